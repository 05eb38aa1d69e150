import { VirtualClock } from "@leasehold/core/testing";
import type { Json } from "@leasehold/etcd";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PlaceKeeper } from "../src/place-keeper.ts";
import { PlaceWatch } from "../src/place-watch.ts";
import type { CallLimits, EtcdRequests } from "../src/requests.ts";

/** So long that this time never wakes a waiting caller. */
const NEVER_MS = 100_000_000;

/** A watch at etcd that a test controls. */
interface Stream {
  readonly begunMs: number;
  readonly creates: readonly Json[];
  readonly signal: AbortSignal;
  /** Makes it yield a message, end, or fail. */
  tell(message: Json | Error | undefined): void;
}

describe("the watch of a place", () => {
  let clock: VirtualClock;
  let streams: Stream[];
  let watch: PlaceWatch;
  let startMs: number;

  beforeEach(() => {
    clock = new VirtualClock();
    startMs = clock.monotonicMs();
    streams = [];
    const requests: Pick<EtcdRequests, "watch"> = {
      async *watch(_election, creates, signal) {
        const messages: Array<Json | Error | undefined> = [];
        let wake = Promise.withResolvers<void>();
        const tell = (message: Json | Error | undefined): void => {
          messages.push(message);
          wake.resolve();
        };
        signal.addEventListener("abort", () => tell(undefined), { once: true });
        streams.push({ begunMs: clock.monotonicMs() - startMs, creates, signal, tell });
        for (;;) {
          await wake.promise;
          wake = Promise.withResolvers();
          for (const message of messages.splice(0)) {
            if (message === undefined) return;
            if (message instanceof Error) throw message;
            yield message;
          }
        }
      },
    };
    watch = new PlaceWatch(clock, requests as EtcdRequests, "e");
  });

  afterEach(async () => {
    watch.stop();
    await clock.advance(0);
    expect(streams.every(({ signal }) => signal.aborted)).toBe(true);
    await clock.advance(NEVER_MS);
    expect(clock.pendingTimers).toBe(0);
  });

  /** Returns when a waiting caller is woken, in milliseconds from now; `undefined` while it is not. */
  function waiting(withinMs = NEVER_MS): { wokenMs: number | undefined } {
    const result: { wokenMs: number | undefined } = { wokenMs: undefined };
    const fromMs = clock.monotonicMs();
    void watch.ended(withinMs).then(() => (result.wokenMs = clock.monotonicMs() - fromMs));
    return result;
  }

  it("asks only for the ends of its keys, from the revision after the read", async () => {
    watch.follow(["e/1f", "e/2f"], 7);
    await clock.advance(0);
    expect(streams.map(({ creates }) => creates)).toEqual([
      ["e/1f", "e/2f"].map((key) => ({
        key: Buffer.from(key).toString("base64"),
        start_revision: "8",
        filters: ["NOPUT"],
      })),
    ]);
  });

  it("goes on while the keys are the same, and is replaced by another one if they differ", async () => {
    for (const keys of [["e/1f", "e/2f"], ["e/1f", "e/2f"], ["e/1f"]]) watch.follow(keys, 7);
    await clock.advance(0);
    expect(streams.map(({ creates, signal }) => [creates.length, signal.aborted])).toEqual([
      [2, true],
      [1, false],
    ]);
    // The end of the former watch does not wake the caller of the new one.
    const woken = waiting();
    await clock.advance(2_000);
    watch.follow(["e/1f"], 8);
    await clock.advance(2_000);
    expect(streams).toHaveLength(2);
    expect(woken.wokenMs).toBeUndefined();
    watch.wake();
    await clock.advance(0);
  });

  it("wakes for an event, and not for a message without one", async () => {
    watch.follow(["e/1f"], 7);
    await clock.advance(0);
    const woken = waiting();
    streams[0]?.tell({ created: true });
    await clock.advance(10);
    expect(woken.wokenMs).toBeUndefined();
    streams[0]?.tell({ events: [] });
    await clock.advance(0);
    expect(woken.wokenMs).toBe(10);
    expect(clock.pendingTimers).toBe(0);
    watch.follow(["e/1f"], 9);
    await clock.advance(0);
    expect(streams).toHaveLength(1);
  });

  it("wakes once for an event before the wait began, and otherwise after its time", async () => {
    watch.wake();
    watch.wake();
    const [first, second] = [waiting(), await clock.advance(0).then(() => waiting(250))];
    await clock.advance(1_000);
    expect([first.wokenMs, second.wokenMs]).toEqual([0, 250]);
    const third = waiting(250);
    watch.wake();
    await clock.advance(1_000);
    expect(third.wokenMs).toBe(0);
  });

  it.each<readonly [string, Json | Error | undefined]>([
    ["ends", undefined],
    ["fails", new Error("the connection broke")],
    ["is cancelled", { canceled: true }],
  ])("if it %s at once, begins anew after a time that doubles up to a minute", async (_, message) => {
    for (let reading = 0; reading < 9; reading += 1) {
      watch.follow(["e/1f"], 7);
      await clock.advance(0);
      streams.at(-1)?.tell(message);
      await clock.runUntil(watch.ended(NEVER_MS), NEVER_MS - 1);
    }
    const seconds = streams.map(({ begunMs }) => begunMs / 1_000);
    expect(seconds).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183]);
  });

  it("begins anew a certain time after its beginning, not after its end; and soon again once it has lasted for a minute", async () => {
    const lasts = [400, 59_999, 60_000, 0, 0];
    for (const lastsMs of lasts) {
      watch.follow(["e/1f"], 7);
      await clock.advance(lastsMs);
      streams.at(-1)?.tell(undefined);
      await clock.runUntil(watch.ended(NEVER_MS), NEVER_MS - 1);
    }
    expect(streams.map(({ begunMs }) => begunMs)).toEqual([0, 1_000, 60_999, 120_999, 122_999]);
  });

  it("does not begin anew once it was stopped", async () => {
    watch.follow(["e/1f"], 7);
    await clock.advance(0);
    streams[0]?.tell(undefined);
    await clock.advance(0);
    expect(clock.pendingTimers).toBe(1);
    watch.stop();
    expect(clock.pendingTimers).toBe(0);
    watch.follow(["e/1f"], 7);
    await clock.advance(0);
    expect(streams).toHaveLength(2);
  });
});

describe("the keeper of a place", () => {
  it("aborts a keep-alive that is under way when it is stopped, and sends no more", async () => {
    const clock = new VirtualClock();
    const sent: CallLimits[] = [];
    const answer = Promise.withResolvers<boolean>();
    const keeper = new PlaceKeeper(clock, 3_000, 700, async (limits) => {
      sent.push(limits);
      return await answer.promise;
    });
    keeper.start();
    await clock.advance(2_999);
    expect(sent).toHaveLength(0);
    await clock.advance(1);
    expect(sent).toMatchObject([{ timeoutMs: 700, signal: { aborted: false } }]);
    keeper.stop();
    expect(sent[0]?.signal?.aborted).toBe(true);
    answer.resolve(true);
    await clock.advance(60_000);
    expect(sent).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it("goes on while the lease exists, after a failure at a quarter of the interval, and ends with the lease", async () => {
    const clock = new VirtualClock();
    const startMs = clock.monotonicMs();
    const sentMs: number[] = [];
    const keeper = new PlaceKeeper(clock, 1_000, 700, async () => {
      sentMs.push(clock.monotonicMs() - startMs);
      if (sentMs.length === 2) throw new Error("no leader");
      return await Promise.resolve(sentMs.length < 5);
    });
    keeper.start();
    await clock.advance(60_000);
    expect(sentMs).toEqual([1_000, 2_000, 2_250, 3_250, 4_250]);
    expect(clock.pendingTimers).toBe(0);
  });
});
