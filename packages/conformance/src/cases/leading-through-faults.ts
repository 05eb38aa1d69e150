import assert from "node:assert/strict";
import { timing, type LeaseStore } from "@leasehold/core";
import type { Place } from "@leasehold/core/provider";
import type { Case } from "../case.ts";
import type { Candidate } from "../candidate.ts";
import { Contest } from "../contest.ts";
import { isTaken, STEPS_PER_LEASE, type Scenario } from "../scenario.ts";

/** A renewal hangs for this many lease durations: a minute, if a lease lasts 15 seconds. */
const HANG_LEASES = 4;

/** Cases: electors survive a store that cannot be reached, on the real service. */
export const leadingThroughFaults: readonly Case[] = [
  {
    id: "leading-lost-reply",
    title:
      "a candidate whose acquisition was carried out and not answered leads, or another does, long before the lease runs out",
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      // The lease is long and the attempts are short. So a takeover before the lease's end is told apart on a slow machine, too.
      const leaseDurationMs = 2 * scene.leaseMs;
      const lasting = { leaseDurationMs, attemptTimeoutMs: scene.leaseMs / 6 };
      const endings: ReadonlyArray<(a: Candidate, contest: Contest) => Promise<void>> = [
        // One reply is lost. The candidate's next read shows the outcome.
        () => faults.heal(),
        // All replies are lost until the attempt has failed.
        async (a, contest) => {
          await contest.until("the attempt has failed", () => a.failures.length > 0, scene.leaseMs);
          await faults.heal();
        },
        // The candidate stops before it learns that it has won. No process leads on the lease.
        async (a) => {
          void a.stop();
          await faults.heal();
        },
      ];
      for (const end of endings) {
        const earlier = await scene.win(other, "earlier");
        await using contest = new Contest(scene);
        let sentMs: number | undefined;
        const losing = beforeItAcquires(store, async () => {
          await faults.loseReplies();
          sentMs = scene.clock.monotonicMs();
        });
        // The candidate is a standby first, so that all its connections are open.
        const a = await contest.enter("a", losing, lasting);
        await contest.pass(0.2 * scene.leaseMs);
        await scene.leave(other, earlier);
        await contest.until("it acquires", () => sentMs !== undefined, 0.5 * scene.leaseMs);
        await scene.eventually("an acquisition whose reply is lost is carried out", async () => {
          return isTaken(await scene.look(other));
        });
        await contest.enter("b", other);
        await end(a, contest);
        const leftMs = 0.8 * leaseDurationMs - (scene.clock.monotonicMs() - (sentMs ?? 0));
        await contest.until("somebody leads", () => contest.leader !== undefined, leftMs);
        await contest.leadsOn(contest.leader as Candidate, scene.lapseMs);
      }
    },
  },
  {
    id: "leading-hanging-renewals",
    title: `a leader whose renewals hang for ${HANG_LEASES} leases aborts its signal while it is still valid, and is not valid when another leads`,
    needs: ["faults"],
    async run(scene) {
      const { store, faults } = await scene.connectUnreliably();
      const [other] = await scene.connect(1);
      await using contest = new Contest(scene);
      const a = await contest.enterAndLead("a", store);
      const b = await contest.enter("b", other);
      await contest.leadsOn(a, scene.leaseMs);
      const held = await faults.hold();
      await stepsDownInTime(scene, contest, a);
      await contest.until("another leads", () => b.leads, scene.leaseMs);
      await contest.leadsOn(b, (HANG_LEASES - 1) * scene.leaseMs);
      // The request that hung arrives at last, and changes nothing.
      await held.letGo();
      await faults.heal();
      await contest.leadsOn(b, scene.lapseMs);
      assert.deepEqual(contest.terms, [a.leadership.term, b.leadership.term]);
    },
  },
  {
    id: "leading-outage",
    title:
      "when the service has been away for long, its leader has stepped down in time; afterwards one leads, with nobody's help",
    needs: ["outages"],
    async run(scene) {
      const { stores, interrupt } = await scene.connectInterruptibly(3);
      await using contest = new Contest(scene);
      const [first, ...others] = stores as [LeaseStore, ...LeaseStore[]];
      const a = await contest.enterAndLead("a", first);
      for (const [index, store] of others.entries()) await contest.enter(`standby ${index}`, store);
      await contest.leadsOn(a, scene.leaseMs);
      const outage = await interrupt();
      const sinceMs = scene.clock.monotonicMs();
      await stepsDownInTime(scene, contest, a);
      // No candidate has to be asked now: the check of `contest.terms` below shows any new leader.
      await scene.pass(scene.outageMs - (scene.clock.monotonicMs() - sinceMs));
      assert.deepEqual(contest.terms, [a.leadership.term], "somebody began to lead without a service");
      await outage[Symbol.asyncDispose]();
      await contest.until("one leads after the outage", () => contest.leader !== undefined, scene.leaseMs);
      await contest.leadsOn(contest.leader as Candidate, 2 * scene.leaseMs);
      assert.equal(contest.terms.length, 2, "after the outage nobody but the one who led first may have led");
    },
  },
];

/**
 * Checks a leader whose renewals no longer arrive. Its signal aborts by the renew deadline, and `isValid()` ends before the lease
 * does.
 */
async function stepsDownInTime(scene: Scenario, contest: Contest, leader: Candidate): Promise<void> {
  const { leadership } = leader;
  const { renewDeadlineMs, validForMs } = timing({ leaseDurationMs: scene.leaseMs });
  // Ask no candidate whether it leads, because `isLeader` would make the leader check its clocks.
  await scene.until(
    "the signal of the task aborts",
    () => leadership.signal.aborted,
    renewDeadlineMs + scene.leaseMs / STEPS_PER_LEASE,
  );
  const heardMs = (leader.abortedMs ?? Infinity) - leader.grantedMs;
  assert.ok(
    heardMs < validForMs,
    `the signal aborted ${heardMs} ms after the last renewal, of a lease that was valid for ${validForMs}`,
  );
  let validMs = 0;
  const isOver = (): boolean => {
    const askedMs = scene.clock.monotonicMs();
    if (!leadership.isValid()) return true;
    validMs = askedMs - leader.grantedMs;
    return false;
  };
  await contest.until("it is not valid any more", isOver, scene.leaseMs - renewDeadlineMs);
  assert.ok(validMs < scene.leaseMs, `it was valid for ${validMs} ms`);
}

/**
 * Returns the same store, which calls `act` right before it sends its first acquisition, or the first by a place in its queue.
 */
function beforeItAcquires(store: LeaseStore, act: () => Promise<void>): LeaseStore {
  let acted = false;
  const actOnce = async (): Promise<void> => {
    if (!acted) await act();
    acted = true;
  };
  const acquire: LeaseStore["acquire"] = async (request) => {
    await actOnce();
    return await store.acquire(request);
  };
  const given = store.join?.bind(store);
  const join: LeaseStore["join"] = given && ((...of) => beforeItsTurn(given(...of), actOnce));
  return new Proxy(store, {
    get(target, key): unknown {
      if (key === "acquire") return acquire;
      if (key === "join") return join;
      const member: unknown = Reflect.get(target, key);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

function beforeItsTurn(place: Place, act: () => Promise<void>): Place {
  return {
    turns: () => place.turns(),
    leave: (limits) => place.leave(limits),
    acquire: async () => {
      await act();
      return await place.acquire();
    },
  };
}
