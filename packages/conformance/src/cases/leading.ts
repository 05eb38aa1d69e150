import assert from "node:assert/strict";
import { Elector, isLeaseholdError, type Leadership, type LeaseStore } from "@leasehold/core";
import type { Case } from "../case.ts";
import { Contest } from "../contest.ts";
import { eventLoopTurn } from "../real-time.ts";
import { storeClockLatenessMs, type Scenario } from "../scenario.ts";

/** One of this many leaderships is broken. */
const BROKEN_EVERY = 10;
/** The number of leaderships that are left to expire, which takes time. */
const EXPIRIES = 3;

/** Cases: electors on the store lead one at a time, whatever their tasks do. */
export const leading: readonly Case[] = [
  {
    id: "leading-stubborn-task",
    title:
      "a task that ignores its signal for two leases has a successor with a higher term, and its late end does not harm the successor",
    async run(scene) {
      const [store, other] = await scene.connect(2);
      const text = await scene.place.guard?.();
      await using contest = new Contest(scene);
      const a = await contest.enterAndLead("a", store, { stubborn: true });
      const b = await contest.enter("b", other);
      if (text) assert.ok(await text.write(a.leadership, "by a"), "the leader's own write was refused");
      await contest.leadsOn(a, 0.5 * scene.leaseMs);
      const sinceMs = scene.clock.monotonicMs();
      void a.elector.resign();
      assert.ok(a.leadership.signal.aborted, "the signal of its task did not abort");
      // The leader drains for one lease, and renews meanwhile. Then the lease runs out.
      await contest.until("another leads", () => b.leads, 2.5 * scene.leaseMs);
      assert.equal(a.overruns, 1, "no overrun was reported");
      assert.ok(b.leadership.term > a.leadership.term);
      if (text) {
        assert.ok(await text.write(b.leadership, "by b"), "the successor's write was refused");
        assert.equal(await text.write(a.leadership, "by a, late"), false, "a write of a term that is over got through");
        assert.equal(await text.read(), "by b");
      }
      await contest.leadsOn(b, Math.max(2 * scene.leaseMs - (scene.clock.monotonicMs() - sinceMs), scene.leaseMs / 2));
      a.settle();
      await contest.leadsOn(b, scene.lapseMs);
      assert.deepEqual([a.leaderships.length, b.leaderships.length], [1, 1]);
    },
  },
  {
    id: "leading-stale-write",
    title: "a guarded write of a leader that was replaced and does not know it yet is refused by the service",
    needs: ["fence"],
    async run(scene) {
      const [store, other] = await scene.connect(2);
      const text = await scene.guard();
      // Two contests, because after an immediate break two leaders are valid by their own account.
      await using before = new Contest(scene);
      const a = await before.enterAndLead("a", store);
      assert.ok(await text.write(a.leadership, "by a"), "the leader's own write was refused");
      assert.ok((await other.break(scene.election, { reason: "to be replaced", immediate: true, ...scene.limits })).broken);
      if (store.capabilities.fence === "atomic") {
        assert.equal(await text.write(a.leadership, "by a, broken"), false, "a write of a broken term got through");
      }
      await using after = new Contest(scene);
      const b = await after.enterAndLead("b", other);
      assert.ok(await text.write(b.leadership, "by b"), "the successor's write was refused");
      assert.equal(await text.write(a.leadership, "by a, late"), false, "a write of a term that is over got through");
      assert.equal(await text.read(), "by b");
    },
  },
  {
    id: "leading-cold-takeover",
    title: "of processes that start after the leader died, and try once each, one leads soon after its lease has run out",
    needs: ["store-clock"],
    async run(scene) {
      const [store] = await scene.connect(1);
      await using contest = new Contest(scene);
      // For the others this equals a death: nothing is sent from then on.
      const a = await contest.enterAndLead("a", store, { releaseOnStop: false });
      await contest.leadsOn(a, 0.6 * scene.leaseMs);
      await scene.settled(a.stop());
      const everyMs = scene.leaseMs / 10;
      const boundMs = scene.leaseMs + storeClockLatenessMs(store) + 2 * everyMs;
      for (let tries = 1; ; tries += 1) {
        const [cold] = await scene.connect(1);
        const { elected } = await scene.settled(tryOnce(scene, cold, `cold ${tries}`));
        const sinceMs = scene.clock.monotonicMs() - a.grantedMs;
        if (elected) {
          assert.ok(sinceMs >= 0.95 * scene.leaseMs, `it led ${sinceMs} ms after the last renewal`);
          break;
        }
        assert.ok(sinceMs <= boundMs, `after ${sinceMs} ms, of at most ${boundMs}, nobody leads`);
        await contest.pass(everyMs);
      }
    },
  },
  {
    id: "leading-thousand-terms",
    title: "terms rise strictly over a thousand leaderships of three processes, which are released, broken, or left to expire",
    async run(scene) {
      const { rounds } = scene;
      const expiredEvery = Math.floor(rounds / (EXPIRIES + 1));
      const stores = await scene.connect(3);
      const terms: number[] = [];
      const stopping = { releaseOnStop: false, ...unhurried(scene) };
      const electors = stores.map((store, index) => electorOf(scene, store, `candidate ${index}`, stopping));
      for (let turn = 1; turn <= rounds; turn += 1) {
        const elector = electors[turn % electors.length] as Elector;
        const abort = new AbortController();
        const expires = turn % expiredEvery === 0 && turn < rounds;
        // A service whose clock is moved may be behind the other processes by the real time of the earlier rounds.
        if (expires) await scene.pass(scene.leaseMs / 100);
        // As in `scene.look`: without it, stores that answer without waiting let no other case run.
        await eventLoopTurn();
        const end = async ({ term }: Leadership): Promise<void> => {
          terms.push(term);
          if (expires) abort.abort();
          else if (turn % BROKEN_EVERY === 0) await breakTerm(scene, stores[(turn + 1) % stores.length] as LeaseStore, term);
        };
        const { elected } = await elector.tryRun(end, { signal: abort.signal });
        assert.ok(elected, `attempt ${turn} found the lease held`);
        if (!expires) continue;
        for (const store of stores) await scene.look(store);
        await scene.pass(scene.lapseMs);
      }
      for (const [index, term] of terms.entries()) {
        assert.ok(term > (terms[index - 1] ?? 0), `term ${term} follows term ${terms[index - 1]}`);
      }
    },
  },
  {
    id: "leading-deleted-record",
    title: "a leader whose record was deleted has lost; the next leader has a higher term, by itself or by minTerm",
    needs: ["removal", "record"],
    async run(scene) {
      const [store, other] = await scene.connect(2);
      for (let turn = 0; turn < 3; turn += 1) await scene.leadOnce(other);
      await using contest = new Contest(scene);
      const a = await contest.enterAndLead("a", store);
      const b = await contest.enter("b", other);
      const { signal, term } = a.leadership;
      await contest.leadsOn(a, 0.5 * scene.leaseMs);
      await scene.place.remove?.(scene.election);
      await contest.until("the signal of its task aborts", () => signal.aborted, 0.9 * scene.leaseMs);
      assert.ok(isLeaseholdError(signal.reason, "LEASE_LOST"), `the reason of its signal was ${String(signal.reason)}`);
      assert.deepEqual(contest.terms, [term], "somebody leads while the leader whose record was deleted may still be valid");
      await contest.pass(2 * scene.leaseMs);
      const after = contest.terms.slice(1);
      assert.ok(
        after.every((led) => led > term),
        `somebody leads in term ${after.join(", ")} who has seen term ${term}`,
      );
      // A new leader may already have a higher term after one lease, if a fence or a standby remembers the old term.
      if (after.length > 0) return;
      for (const { failures } of [a, b]) {
        assert.ok(isLeaseholdError(failures.at(-1), "TERM_REGRESSED"), `it failed with ${String(failures.at(-1))}`);
      }
      const [healing] = await scene.connect(1);
      const healer = await contest.enterAndLead("healer", healing, { minTerm: term + 1 });
      await contest.leadsOn(healer, scene.leaseMs / 2);
    },
  },
];

/** Runs a process that tries to lead once, and ends. */
async function tryOnce(scene: Scenario, store: LeaseStore, candidateId: string): Promise<{ readonly elected: boolean }> {
  return await electorOf(scene, store, candidateId, unhurried(scene)).tryRun(() => undefined);
}

function electorOf(
  { election, clock, leaseMs: leaseDurationMs }: Scenario,
  store: LeaseStore,
  candidateId: string,
  options: Partial<ConstructorParameters<typeof Elector>[0]> = {},
): Elector {
  return new Elector({ election, clock, leaseDurationMs, ...options, store, candidateId });
}

/** Returns timings that give each request much time, above all the first one of a process. `tryRun` does not try again. */
function unhurried({ leaseMs }: Scenario): Partial<ConstructorParameters<typeof Elector>[0]> {
  return { renewIntervalMs: leaseMs / 10, renewDeadlineMs: 0.85 * leaseMs, attemptTimeoutMs: 0.37 * leaseMs };
}

async function breakTerm({ election, limits }: Scenario, store: LeaseStore, ifTerm: number): Promise<void> {
  const outcome = await store.break(election, { reason: "why not", ifTerm, immediate: true, ...limits });
  assert.deepEqual(outcome, { broken: true, term: ifTerm });
}
