import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import type { LeaseStore } from "@leasehold/core";
import type { Case } from "../case.ts";
import { eventLoopTurn } from "../real-time.ts";
import { assertLed } from "../scenario.ts";

/** The number of publications, and of renewals. Not each of them may wake a watcher. */
const QUIET_WRITES = 8;

/** Cases: readers and watchers learn who leads. */
export const reading: readonly Case[] = [
  {
    id: "capabilities",
    title: "the store states what it can do, and the subject lacks what it says and no more",
    async run(scene) {
      const [store] = await scene.connect(1);
      const { capabilities } = store;
      assert.ok(store.name !== "", "a store has a name");
      assert.ok(capabilities.minLeaseMs > 0 && capabilities.minLeaseMs <= capabilities.maxLeaseMs, "the bounds of a lease fit");
      assert.ok(capabilities.leaseGranularityMs > 0);
      assert.ok(capabilities.maxValueBytes >= 255, "a value can hold at least an address");
      assert.equal(capabilities.watch === "push", store.watch !== undefined, "a store that pushes has watch, and no other");
      if (!capabilities.list) {
        assert.throws(() => store.list(scene.election), { code: "UNSUPPORTED" }, "a store that cannot list says so at once");
      }
      await scene.leadOnce(store);
      const unreliable = scene.place.connectUnreliably ? await scene.connectUnreliably() : undefined;
      const has = {
        watch: capabilities.watch === "push",
        transfer: capabilities.transfer !== undefined,
        "store-clock": capabilities.expiry === "native" || capabilities.storeClock !== undefined,
        reservation: capabilities.reservation !== undefined,
        occurrences: store.occurrences !== undefined,
        list: capabilities.list === true,
        record: (await scene.look((await scene.connect(1))[0])) !== undefined,
        faults: unreliable !== undefined,
        outages: unreliable !== undefined || scene.place.interrupt !== undefined,
        clocks: scene.place.connectWith !== undefined,
        fence: scene.place.guard !== undefined,
        duplicates: unreliable?.faults.duplicate !== undefined,
        foreign: scene.place.writeRaw !== undefined && scene.place.readRaw !== undefined,
        removal: scene.place.remove !== undefined,
      };
      const lacks = Object.fromEntries(Object.keys(has).map((need) => [need, need in (scene.subject.lacks ?? {})]));
      assert.deepEqual(
        lacks,
        Object.fromEntries(Object.entries(has).map(([need, present]) => [need, !present])),
        "subject.lacks must name what is not there, and nothing else",
      );
    },
  },
  {
    id: "read-held",
    title: "a reader that can know says held, by whom, with which value, and for how long it has not been renewed",
    async run(scene) {
      const [a, reader] = await scene.connect(2);
      const lease = await scene.win(a, "a", { value: "value" });
      await scene.look(reader);
      await scene.pass(scene.leaseMs * 0.3);
      await scene.keep(a, lease);
      // A store that judges expiry itself can show its own holder. With any other store the reader needs two nonces first.
      const seen = await scene.look(a.capabilities.expiry === "native" ? a : reader);
      assert.equal(seen?.state, "held");
      assert.deepEqual([seen.term, seen.holder, seen.value, seen.leaseDurationMs], [lease.term, "a", "value", scene.leaseMs]);
      if (seen.ageMs) {
        const [min, max] = seen.ageMs;
        assert.ok(min >= 0 && min <= max && min < scene.leaseMs, `the age is from ${min} to ${max} ms`);
      }
    },
  },
  {
    id: "read-vacant",
    title: "a released lease reads as vacant, by everybody, with its term and without its holder",
    async run(scene) {
      const [a, watched, cold] = await scene.connect(3);
      const lease = await scene.win(a, "a", { value: "value" });
      await scene.look(watched);
      await scene.leave(a, lease);
      for (const store of [a, watched, cold]) {
        scene.isFree(await scene.look(store), lease.term);
      }
    },
  },
  {
    id: "read-expired",
    title: "a lease that has run out reads as expired, with its last holder, to a process that has watched",
    async run(scene) {
      const [a, reader] = await scene.connect(2);
      const lease = await scene.win(a, "a", { value: "value" });
      assertLed(await scene.look(reader), "a look at a live lease");
      await scene.pass(scene.lapseMs);
      for (let looks = 0; looks < 2; looks += 1) {
        const seen = await scene.look(reader);
        scene.hasExpired(seen, lease);
        assert.equal(seen?.value, scene.keepsRecord ? "value" : undefined);
      }
    },
  },
  {
    id: "check",
    title: "a check says how long the store takes, in every state, and changes nothing",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const check = async (): Promise<void> => {
        const { readMs, writeMs } = await scene.settled(b.check({ election: scene.election, timeoutMs: scene.limits.timeoutMs }));
        assert.ok(readMs >= 0 && writeMs >= 0, `${readMs} ms to read, ${writeMs} ms to write`);
      };
      await check();
      assert.equal(await scene.look(a), undefined, "a check makes no record");
      const lease = await scene.win(a, "a", { value: "value" });
      await check();
      await scene.keep(a, lease);
      const seen = await scene.look(a);
      assert.deepEqual([seen?.term, seen?.value], [lease.term, "value"]);
      await scene.leave(a, lease);
      await check();
      const next = await scene.win(a, "a");
      if (scene.keepsRecord) assert.equal(next.term, lease.term + 1);
      await scene.leave(a, next);
    },
  },
  {
    id: "next-look",
    title: "a store asks a standby to poll again within its retry period, whatever it has observed",
    async run(scene) {
      const [a, b] = await scene.connect(2);
      const retryPeriodMs = Math.floor(scene.leaseMs / 8);
      const check = (about: string): void => {
        const ms = b.nextLookMs(scene.election, retryPeriodMs);
        assert.ok(Number.isFinite(ms) && ms >= 0, `${about}: the next look is in ${ms} ms`);
        const limitMs = b.capabilities.watch === "push" ? scene.leaseMs + 1 : retryPeriodMs;
        assert.ok(ms <= limitMs + 1, `${about}: the next look is in ${ms} ms, later than ${limitMs}`);
      };
      check("before any look");
      await scene.look(b);
      check("without a record");
      const lease = await scene.win(a, "a");
      for (let looks = 0; looks < 4; looks += 1) {
        await scene.look(b);
        check("while it is held");
        await scene.pass(scene.leaseMs * 0.3);
        await scene.keep(a, lease);
      }
      await scene.pass(scene.lapseMs);
      await scene.look(b);
      await scene.pass(scene.lapseMs);
      await scene.look(b);
      check("once it has expired");
      await a.release(lease, scene.limits);
      await scene.look(b);
      check("once it is vacant");
    },
  },
  {
    id: "watch-release",
    title: "a watcher is woken by an acquisition, a release and a break, and neither by renewals nor by publications",
    needs: ["watch"],
    async run(scene) {
      const [a, watcher] = await scene.connect(2);
      const stopping = new AbortController();
      const { wakeUps, done } = watch(watcher, scene.election, stopping.signal);
      const wakes = async (what: string, act: () => Promise<unknown>): Promise<void> => {
        const before = wakeUps.count;
        await act();
        await scene.eventually(`a watcher is woken by ${what}`, () => wakeUps.count > before);
      };
      try {
        await scene.eventually("a watcher is woken once its watch stands", () => wakeUps.count > 0);
        assert.equal(await scene.look(watcher), undefined, "there is no record yet");
        const lease = await scene.win(a, "a", { value: "first" });
        await scene.eventually("a watcher is woken by the acquisition", () => wakeUps.count > 1);
        const before = wakeUps.count;
        for (let writes = 0; writes < QUIET_WRITES; writes += 1) {
          await a.publish(lease, `value ${writes}`, scene.limits);
          await scene.keep(a, lease);
        }
        await wakes("the release", () => scene.leave(a, lease));
        // A store may wake a watcher without a reason. The wake-up of an earlier write may also arrive late.
        assert.ok(wakeUps.count - before <= QUIET_WRITES / 2, "renewals and publications wake nobody");
        await wakes("the next acquisition", () => scene.win(watcher, "watcher"));
        await wakes("a break", () => a.break(scene.election, { reason: "to wake" }));
      } finally {
        stopping.abort();
        await scene.settled(done);
      }
    },
  },
  {
    id: "watch-ends",
    title: "a watch ends when its signal aborts, at any moment, and leaves no listener behind",
    needs: ["watch"],
    async run(scene) {
      const [a, watcher] = await scene.connect(2);
      const lease = await scene.win(a, "a");
      // Nothing is written after a watch has ended, because Google's emulator of Firestore may fail a commit at that moment.
      for (const turns of [5, 2, 1, 0]) {
        const stopping = new AbortController();
        const { done } = watch(watcher, scene.election, stopping.signal);
        for (let turn = 0; turn < turns; turn += 1) await eventLoopTurn();
        if (turns === 5) await scene.keep(a, lease);
        stopping.abort();
        await scene.settled(done);
        assert.equal(getEventListeners(stopping.signal, "abort").length, 0, "a watch that has ended still listens");
      }
      const stopping = new AbortController();
      for await (const _ of watcher.watch?.(scene.election, { signal: stopping.signal }) ?? []) break;
      assert.equal(getEventListeners(stopping.signal, "abort").length, 0, "a watch that was left still listens");
    },
  },
];

/** Watches, and counts the wake-ups. `done` rejects with the watch's error, unless that is the signal's reason. */
function watch(
  store: LeaseStore,
  election: string,
  signal: AbortSignal,
): { readonly wakeUps: { readonly count: number }; readonly done: Promise<void> } {
  const wakeUps = { count: 0 };
  const follow = async (): Promise<void> => {
    try {
      for await (const _ of store.watch?.(election, { signal }) ?? []) wakeUps.count += 1;
    } catch (error) {
      if (error !== signal.reason) throw error;
    }
  };
  const done = follow();
  done.catch(() => undefined);
  return { wakeUps, done };
}
