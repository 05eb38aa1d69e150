import { StoreError } from "@leasehold/core";
import { systemClock, type Clock } from "@leasehold/core/provider";
import { describe, expect, test } from "vitest";
import { Requests, type Connections } from "../src/requests.ts";
import { failureOf } from "@leasehold/test-kit/failure";
import type { RequestLabel } from "../src/sql-errors.ts";

const LABEL: RequestLabel = { store: "s", operation: "put", election: "e", writes: true };
const READ: RequestLabel = { ...LABEL, operation: "get", writes: false };

/** Returns a clock whose timers run at the test's command, and the time of each timer. */
function stoppedClock(): { readonly clock: Clock; readonly run: () => void; readonly timers: Map<() => void, number> } {
  const timers = new Map<() => void, number>();
  const setTimer: Clock["setTimer"] = (callback, delayMs) => {
    timers.set(callback, delayMs);
    return { cancel: () => timers.delete(callback) };
  };
  return { clock: { ...systemClock, setTimer }, timers, run: () => [...timers.keys()].forEach((timer) => timer()) };
}

/** Returns connections with numbers, and records what happens to each. */
function numbered(cancel: () => Promise<void> = async () => undefined) {
  const fate: string[] = [];
  let count = 0;
  const connections: Connections<number> = {
    get: async () => (count += 1),
    release: (connection) => fate.push(`${connection} released`),
    discard: (connection) => fate.push(`${connection} discarded`),
    instant: () => 7,
    doubt: (instant) => fate.push(`doubt until ${instant}`),
    cancel: async (connection, by) => {
      fate.push(`${by} cancels ${connection}`);
      await cancel();
    },
    blockersOf: async (connection, by) => {
      fate.push(`${by} asks who blocks ${connection}`);
      return "Process 5 blocks it.";
    },
  };
  return { connections, fate };
}

const timeUp = (): StoreError =>
  new StoreError("STORE_TIMEOUT", "no answer", { store: "s", operation: "put", election: "e", mayHaveBeenApplied: true });

/** Makes a call to a server that does not answer, and gives it up once it has a connection. */
async function givenUp(connections: Connections<number>, clock: Clock, label: RequestLabel, reason: Error): Promise<never> {
  const abort = new AbortController();
  return await new Requests(connections, () => undefined, clock).run(label, { signal: abort.signal }, async () => {
    abort.abort(reason);
    return await new Promise<never>(() => undefined);
  });
}

async function soon(): Promise<void> {
  await new Promise((resolve) => void setImmediate(resolve));
}

describe("a read that is given up", () => {
  test("is cancelled on another connection, which goes back", async () => {
    const { clock, timers } = stoppedClock();
    const { connections, fate } = numbered();
    await expect(givenUp(connections, clock, READ, new Error("given up"))).rejects.toMatchObject({ mayHaveBeenApplied: false });
    await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1", "2 released"]);
    expect(timers.size).toBe(0);
  });

  test("whose cancellation gets no answer keeps no connection", async () => {
    const { clock, run, timers } = stoppedClock();
    const { connections, fate } = numbered(async () => new Promise(() => undefined));
    await expect(givenUp(connections, clock, READ, new Error("given up"))).rejects.toThrow("given up");
    await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1"]);
    run();
    await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1", "2 discarded"]);
    await expect.poll(() => timers.size).toBe(0);
  });

  test("whose cancellation fails rejects with its own error", async () => {
    const { clock } = stoppedClock();
    const { connections, fate } = numbered(async () => Promise.reject(new Error("There is no such statement.")));
    await expect(givenUp(connections, clock, READ, new Error("given up"))).rejects.toThrow("given up");
    await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1", "2 discarded"]);
  });
});

test("a write that is given up is never cancelled: it may be waiting for its replica", async () => {
  const { clock, timers } = stoppedClock();
  const { connections, fate } = numbered();
  await expect(givenUp(connections, clock, LABEL, new Error("given up"))).rejects.toMatchObject({ mayHaveBeenApplied: true });
  await soon();
  expect(fate).toEqual(["1 discarded"]);
  expect(timers.size).toBe(0);
});

test("a call without an answer in time makes older connections doubtful; a call that its caller gave up does not", async () => {
  const { clock } = stoppedClock();
  for (const [reason, doubts] of [
    [timeUp(), ["doubt until 7"]],
    [new Error("The caller gave up."), []],
  ] as const) {
    const { connections, fate } = numbered();
    await givenUp(connections, clock, LABEL, reason).catch(() => undefined);
    expect(fate).toEqual(["1 discarded", ...doubts]);
  }
});

test("a call whose signal has already aborted takes no connection", async () => {
  const { connections, fate } = numbered();
  const calls = new Requests(connections, () => undefined, systemClock);
  const call = calls.run(LABEL, { signal: AbortSignal.abort(new Error("before")) }, async () => "never");
  await expect(call).rejects.toThrow("before");
  expect(fate).toEqual([]);
});

test.for([
  ["a conflict", { code: "STORE_CONFLICT", notApplied: true }, []],
  ["a server that takes no writes", { code: "STORE_UNAVAILABLE", notApplied: true }, ["doubt until 7"]],
  ["a failure that is no answer", undefined, ["doubt until 7"]],
] as const)("after %s the connection does not go back", async ([, meaning, doubts]) => {
  const { connections, fate } = numbered();
  const { signal } = new AbortController();
  const act = (): Promise<never> => Promise.reject(new Error("It went wrong."));
  const call = new Requests(connections, () => meaning, systemClock).run(LABEL, { signal }, act);
  await expect(call).rejects.toMatchObject({ mayHaveBeenApplied: meaning === undefined });
  await soon();
  expect(fate).toEqual(["1 discarded", ...doubts]);
});

test("a write that waits for a lock for long names the session that holds it", async () => {
  const { clock, run, timers } = stoppedClock();
  const { connections, fate } = numbered();
  const { signal } = new AbortController();
  const answer = Promise.withResolvers<never>();
  const conflict = { code: "STORE_CONFLICT", notApplied: true, advice: " Ask an administrator." } as const;
  const act = async (): Promise<never> => await answer.promise;
  const failure = failureOf(new Requests(connections, () => conflict, clock).run(LABEL, { signal, timeoutMs: 1_000 }, act));
  // Half of the time that the server may wait for locks.
  expect([...timers.values()]).toEqual([400]);
  await soon();
  run();
  await expect.poll(() => fate).toEqual(["2 asks who blocks 1", "2 released"]);
  answer.reject(new Error("lock timeout"));
  expect((await failure).message).toBe("s: 'put' of 'e' failed: lock timeout. Process 5 blocks it.");
  expect(timers.size).toBe(0);
});

/** Returns connections that come at the test's command. */
function late() {
  const { connections, fate } = numbered();
  const waiting: Array<PromiseWithResolvers<number>> = [];
  const get = async (): Promise<number> => {
    waiting.push(Promise.withResolvers());
    return await waiting.at(-1)!.promise;
  };
  return { fate, waiting, connections: { ...connections, get } };
}

test("a connection that comes after its call was given up goes back, and nothing was sent", async () => {
  const { connections, waiting, fate } = late();
  const abort = new AbortController();
  const act = async (): Promise<never> => expect.fail("Nothing is to be sent.");
  const call = new Requests(connections, () => undefined, systemClock).run(LABEL, { signal: abort.signal }, act);
  abort.abort(timeUp());
  await expect(call).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  waiting[0]?.resolve(1);
  await expect.poll(() => fate).toEqual(["1 released"]);
});

test("a connection that comes too late for a cancellation goes back", async () => {
  const { clock, run, timers } = stoppedClock();
  const { connections, waiting, fate } = late();
  const call = givenUp(connections, clock, READ, new Error("given up"));
  waiting[0]?.resolve(1);
  await expect(call).rejects.toThrow("given up");
  expect(waiting).toHaveLength(2);
  expect([...timers.values()]).toEqual([5_000]);
  run();
  waiting[1]?.resolve(2);
  await expect.poll(() => fate).toEqual(["1 discarded", "2 released"]);
  expect(timers.size).toBe(0);
});
