import { getEventListeners } from "node:events";
import { systemClock, type Clock } from "@leasehold/core";
import { expect, test } from "vitest";
import { onOneConnection, type Connections } from "../src/requests.ts";

const LABEL = { store: "s", operation: "put", election: "e", writes: true };

/** A clock whose timers run when the test says so, and for how long each was set. */
function stoppedClock(): { readonly clock: Clock; readonly run: () => void; readonly timers: Map<() => void, number> } {
  const timers = new Map<() => void, number>();
  const setTimer: Clock["setTimer"] = (callback, delayMs) => {
    timers.set(callback, delayMs);
    return { cancel: () => timers.delete(callback) };
  };
  return { clock: { ...systemClock, setTimer }, timers, run: () => [...timers.keys()].forEach((timer) => timer()) };
}

/** Connections by number, and what became of each. */
function numbered(cancel: () => Promise<void>) {
  const fate: string[] = [];
  let count = 0;
  const connections: Connections<number> = {
    get: async () => (count += 1),
    release: (connection) => fate.push(`${connection} released`),
    discard: (connection) => fate.push(`${connection} discarded`),
    cancel: async (connection, by) => {
      fate.push(`${by} cancels ${connection}`);
      await cancel();
    },
  };
  return { connections, fate };
}

/** A call on a server that does not answer, which is given up once it has a connection. */
async function givenUp(connections: Connections<number>, clock: Clock): Promise<never> {
  const abort = new AbortController();
  return await onOneConnection(
    connections,
    LABEL,
    abort.signal,
    () => undefined,
    clock,
    async () => {
      abort.abort(new Error("given up"));
      return await new Promise<never>(() => undefined);
    },
  );
}

test("a statement that was given up is cancelled on another connection, which goes back", async () => {
  const { clock, timers } = stoppedClock();
  const { connections, fate } = numbered(async () => undefined);
  await expect(givenUp(connections, clock)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1", "2 released"]);
  expect(timers.size).toBe(0);
});

test("a cancellation that is not answered either keeps no connection", async () => {
  const { clock, run, timers } = stoppedClock();
  const { connections, fate } = numbered(async () => new Promise(() => undefined));
  await expect(givenUp(connections, clock)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1"]);
  run();
  await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1", "2 discarded"]);
  expect(timers.size).toBe(0);
});

test("a cancellation that fails is nobody's business", async () => {
  const { clock } = stoppedClock();
  const { connections, fate } = numbered(async () => Promise.reject(new Error("There is no such statement.")));
  await expect(givenUp(connections, clock)).rejects.toMatchObject({ mayHaveBeenApplied: true });
  await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1", "2 released"]);
});

test("a call whose signal has aborted before takes no connection", async () => {
  const { connections, fate } = numbered(async () => undefined);
  const abort = AbortSignal.abort(new Error("before"));
  await expect(
    onOneConnection(
      connections,
      LABEL,
      abort,
      () => undefined,
      systemClock,
      async () => "never",
    ),
  ).rejects.toThrow("before");
  expect(fate).toEqual([]);
});

test("an answer of the server's leaves a connection as it was; any other failure leaves it in doubt", async () => {
  for (const [meaning, becomes] of [
    [{ code: "STORE_CONFLICT", notApplied: true }, "1 released"],
    [undefined, "1 discarded"],
  ] as const) {
    const { connections, fate } = numbered(async () => undefined);
    const { signal } = new AbortController();
    const act = (): Promise<never> => Promise.reject(new Error("It went wrong."));
    const call = onOneConnection(connections, LABEL, signal, () => meaning, systemClock, act);
    await expect(call).rejects.toMatchObject({ mayHaveBeenApplied: meaning === undefined });
    // Nothing is cancelled that has ended.
    await new Promise((resolve) => void setImmediate(resolve));
    expect(fate).toEqual([becomes]);
  }
});

test("a signal that many calls share gathers no listeners", async () => {
  const { connections, fate } = numbered(async () => undefined);
  const { signal } = new AbortController();
  const call = onOneConnection(
    connections,
    LABEL,
    signal,
    () => undefined,
    systemClock,
    async () => 5,
  );
  await expect(call).resolves.toBe(5);
  expect(fate).toEqual(["1 released"]);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

/** Connections that come when the test says so. */
function late() {
  const { connections, fate } = numbered(async () => undefined);
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
  const call = onOneConnection(connections, LABEL, abort.signal, () => undefined, systemClock, act);
  abort.abort(new Error("given up"));
  await expect(call).rejects.toMatchObject({ message: expect.stringContaining("given up"), mayHaveBeenApplied: false });
  waiting[0]?.resolve(1);
  await expect.poll(() => fate).toEqual(["1 released"]);
});

test("a connection that comes too late for a cancellation goes back", async () => {
  const { clock, run, timers } = stoppedClock();
  const { connections, waiting, fate } = late();
  const call = givenUp(connections, clock);
  waiting[0]?.resolve(1);
  await expect(call).rejects.toMatchObject({ mayHaveBeenApplied: true });
  expect(waiting).toHaveLength(2);
  expect([...timers.values()]).toEqual([5_000]);
  run();
  waiting[1]?.resolve(2);
  await expect.poll(() => fate).toEqual(["1 discarded", "2 released"]);
  expect(timers.size).toBe(0);
});
