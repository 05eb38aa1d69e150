import type { LeaseSnapshot, LeaseStore } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { PollTimer } from "../src/election/poll-timer.ts";
import { Journal } from "../src/reporting/journal.ts";
import { Lines } from "./lines.ts";

const RETRY_PERIOD_MS = 10_000;
const RENEW_INTERVAL_MS = 5_000;

let clock: VirtualClock;
let lines: Lines;

beforeEach(() => {
  clock = new VirtualClock();
  lines = new Lines();
});

function timerOf(store: unknown): PollTimer {
  const paces = { retryPeriodMs: RETRY_PERIOD_MS, renewIntervalMs: RENEW_INTERVAL_MS };
  return new PollTimer({ store: store as LeaseStore, election: "e", clock, journal: Journal.to(lines), ...paces }, undefined);
}

test("a watch that ends restarts after a second, later if it keeps ending, and after a second once it has lasted", async () => {
  const lastsMs = [0, 0, 0, 0, 0, RETRY_PERIOD_MS];
  const originMs = clock.monotonicMs();
  const begunMs: number[] = [];
  const polls = timerOf({
    async *watch(_: string, { signal }: { readonly signal: AbortSignal }) {
      begunMs.push(clock.monotonicMs() - originMs);
      yield;
      await sleep(clock, lastsMs[begunMs.length - 1] ?? 0, signal);
    },
  });

  await clock.advance(38_000);
  polls.stop();

  expect(begunMs).toEqual([0, 1_000, 3_000, 7_000, 15_000, 25_000, 36_000, 38_000]);
  await clock.advance(RETRY_PERIOD_MS);
  expect(clock.pendingTimers).toBe(0);
});

/** A store whose watch wakes on command of the test. */
class Waking {
  readonly name = "waking";
  watches = 0;
  isAborted = false;
  #wake = Promise.withResolvers<void>();

  wake(): void {
    this.#wake.resolve();
  }

  async *watch(_: string, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<void> {
    this.watches += 1;
    signal.addEventListener("abort", () => this.wake(), { once: true });
    while (!signal.aborted) {
      yield;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
    this.isAborted = true;
  }
}

describe("wake-ups", () => {
  test("end a wait, and are merged: those that come before a poll is sent are answered by it", async () => {
    const store = new Waking();
    const polls = timerOf(store);
    await polls.wait(RETRY_PERIOD_MS);
    for (let times = 0; times < 5; times += 1) {
      store.wake();
      await clock.settle();
    }
    polls.polling();
    const startMs = clock.monotonicMs();

    await clock.runUntil(polls.wait(RETRY_PERIOD_MS));

    expect(clock.monotonicMs() - startMs).toBe(RETRY_PERIOD_MS);
    polls.stop();
  });

  test("that come while a poll is under way cause one poll after it", async () => {
    const store = new Waking();
    const polls = timerOf(store);
    await polls.wait(RETRY_PERIOD_MS);
    polls.polling();
    const sentMs = clock.monotonicMs();
    for (let times = 0; times < 3; times += 1) {
      await clock.advance(10);
      store.wake();
      await clock.settle();
    }

    await polls.wait(RETRY_PERIOD_MS);
    expect(polls.wokenMs).toBe(sentMs + 10);
    polls.polling();
    const startMs = clock.monotonicMs();
    await clock.runUntil(polls.wait(RETRY_PERIOD_MS));

    expect(clock.monotonicMs() - startMs).toBe(RETRY_PERIOD_MS);
    polls.stop();
  });

  test("do not cut a pause short", async () => {
    const store = new Waking();
    const polls = timerOf(store);
    const startMs = clock.monotonicMs();
    const pausing = polls.pause(1_000);
    store.wake();

    await clock.runUntil(pausing);

    expect(clock.monotonicMs() - startMs).toBe(1_000);
  });

  test("end with the timer, and so does the watch", async () => {
    const store = new Waking();
    const polls = timerOf(store);
    await clock.settle();
    polls.stop();
    await clock.settle();

    expect([store.isAborted, store.watches, clock.pendingTimers]).toEqual([true, 1, 0]);
  });
});

describe("a watch that is silent while polls show changes", () => {
  const held = (term: number): LeaseSnapshot => ({ election: "e", state: "held", term, holder: "a" });

  /** Polls once per renewal interval. The polls return these snapshots. */
  async function poll(polls: PollTimer, ...shown: readonly LeaseSnapshot[]): Promise<void> {
    for (const snapshot of shown) {
      polls.polling();
      polls.polled(snapshot);
      await clock.advance(RENEW_INTERVAL_MS);
    }
  }

  test("for two renewals is deaf: it restarts, polls follow retryPeriodMs, and one warning is written", async () => {
    const store = new Waking();
    const polls = timerOf(store);
    await clock.settle();
    await poll(polls, held(1));
    expect(polls.isPushed).toBe(true);
    await poll(polls, held(2), held(2));
    expect([store.watches, lines.all.length]).toEqual([1, 0]);
    await poll(polls, held(2));

    expect([store.watches, polls.isPushed]).toEqual([2, false]);
    expect(lines.all.map(({ level, message }) => [level, message.split(":")[0]])).toEqual([
      ["warn", "The waking store does not push"],
    ]);
    await poll(polls, held(2), held(3), held(3), held(3));
    expect(store.watches).toBe(3);
    expect(lines.all).toHaveLength(1);
    polls.stop();
  });

  test("stops being deaf once it wakes for a change; its first wake-up does not count", async () => {
    const store = new Waking();
    const polls = timerOf(store);
    await clock.settle();
    await poll(polls, held(1), held(2), held(2), held(2));
    expect([store.watches, polls.isPushed]).toEqual([2, false]);
    store.wake();
    await clock.settle();

    expect([polls.isPushed, lines.all.length]).toEqual([true, 1]);
    // It is warned of again.
    await poll(polls, held(3), held(4), held(4), held(4));
    expect([polls.isPushed, lines.all.length]).toEqual([false, 2]);
    polls.stop();
  });

  test("is not deaf if it wakes within two renewals, or if only renewals and values change", async () => {
    const store = new Waking();
    const polls = timerOf(store);
    await clock.settle();
    await poll(polls, held(1), held(2));
    store.wake();
    await clock.settle();
    await poll(polls, held(2), held(2), held(2));
    for (let value = 0; value < 5; value += 1) await poll(polls, { ...held(2), value: String(value), ageMs: [value, value] });

    expect([store.watches, polls.isPushed, lines.all.length]).toEqual([1, true, 0]);
    polls.stop();
  });

  test.each([
    ["it is deaf", false, 1],
    ["it is not, if it has announced another one between them", true, 0],
  ])("misses one change at the end of a campaign, and at the end of a second one: %s", async (_, isHeard, warnings) => {
    const store = new Waking();
    for (const times of [1, 2]) {
      const polls = timerOf(store);
      await clock.settle();
      await poll(polls, held(times));
      if (isHeard) store.wake();
      await clock.settle();
      await poll(polls, held(times));
      polls.polling();
      polls.polled({ ...held(times), state: "vacant" });
      polls.stop();
      expect(lines.all).toHaveLength(times === 1 ? 0 : warnings);
    }
  });
});
