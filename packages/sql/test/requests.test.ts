import { systemClock, type Clock } from "@leasehold/core";
import { expect, test } from "vitest";
import { onOneConnection, type Connections } from "../src/requests.ts";

const LABEL = { store: "s", operation: "put", election: "e", writes: true };

/** A clock whose timers run when the test says so. */
function stoppedClock(): { readonly clock: Clock; readonly run: () => void; readonly timers: Set<() => void> } {
  const timers = new Set<() => void>();
  const setTimer: Clock["setTimer"] = (callback) => {
    timers.add(callback);
    return { cancel: () => timers.delete(callback) };
  };
  return { clock: { ...systemClock, setTimer }, timers, run: () => [...timers].forEach((timer) => timer()) };
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

/** A call on a server that does not answer, which is given up at once. */
async function giveUp(connections: Connections<number>, clock: Clock): Promise<void> {
  const abort = new AbortController();
  const call = onOneConnection(
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
  await expect(call).rejects.toMatchObject({ mayHaveBeenApplied: true });
}

test("a statement that was given up is cancelled on another connection, which goes back", async () => {
  const { clock, timers } = stoppedClock();
  const { connections, fate } = numbered(async () => undefined);
  await giveUp(connections, clock);
  await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1", "2 released"]);
  expect(timers.size).toBe(0);
});

test("a cancellation that is not answered either keeps no connection", async () => {
  const { clock, run, timers } = stoppedClock();
  const { connections, fate } = numbered(async () => new Promise(() => undefined));
  await giveUp(connections, clock);
  await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1"]);
  run();
  await expect.poll(() => fate).toEqual(["1 discarded", "2 cancels 1", "2 discarded"]);
  expect(timers.size).toBe(0);
});

test("a cancellation that fails is nobody's business", async () => {
  const { clock } = stoppedClock();
  const { connections, fate } = numbered(async () => Promise.reject(new Error("There is no such statement.")));
  await giveUp(connections, clock);
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
