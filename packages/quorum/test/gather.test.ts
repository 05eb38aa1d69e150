import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { gather } from "../src/gather.ts";

/** Returns requests that settle when the test says so, and the state of what is gathered from them. */
function world(names: readonly string[], isEnough: (answers: ReadonlyMap<string, number>) => boolean = () => false) {
  const clock = new VirtualClock();
  const requests = new Map(names.map((name) => [name, Promise.withResolvers<number>()]));
  const promises = new Map([...requests].map(([name, { promise }]) => [name, promise]));
  const state: { settled?: unknown } = {};
  const gathered = gather(clock, promises, 100, isEnough);
  void gathered.then(({ answers, failures }) => (state.settled = [[...answers], [...failures.keys()]]));
  return { clock, requests, state, gathered };
}

describe("gather waits for answers", () => {
  test("until all requests have settled, with or without success", async () => {
    const { clock, requests, state } = world(["a", "b"]);
    requests.get("a")!.resolve(1);
    await clock.advance(0);
    expect(state.settled).toBeUndefined();
    requests.get("b")!.reject(new Error("no"));
    await clock.advance(0);
    expect(state.settled).toEqual([[["a", 1]], ["b"]]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("until they are enough, and later answers change nothing", async () => {
    const { clock, requests, state, gathered } = world(["a", "b", "c"], ({ size }) => size >= 2);
    requests.get("a")!.resolve(1);
    requests.get("c")!.resolve(3);
    await clock.advance(0);
    const told = [
      ["a", 1],
      ["c", 3],
    ];
    expect(state.settled).toEqual([told, []]);
    requests.get("b")!.resolve(2);
    await clock.advance(1_000);
    expect([...(await gathered).answers]).toEqual(told);
  });

  test("until their time is up", async () => {
    const { clock, requests, state, gathered } = world(["a", "b"]);
    requests.get("a")!.resolve(1);
    await clock.advance(99);
    expect(state.settled).toBeUndefined();
    await clock.advance(1);
    expect(state.settled).toEqual([[["a", 1]], []]);
    requests.get("b")!.reject(new Error("late"));
    await clock.advance(0);
    expect((await gathered).failures.size).toBe(0);
  });

  test("and returns at once if there are no requests", async () => {
    const { clock, state } = world([]);
    await clock.advance(0);
    expect(state.settled).toEqual([[], []]);
    expect(clock.pendingTimers).toBe(0);
  });
});
