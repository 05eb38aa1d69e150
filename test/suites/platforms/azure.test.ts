import { MemoryLeaseStore } from "@leasehold/core";
import { onlyAsLeader } from "@leasehold/functions/azure-functions";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { invoke, timerPayload } from "./azure-worker.ts";
import { DUE } from "./due.ts";
import { Gate } from "./gate.ts";

// Import it here: it looks for the worker when the first function registers itself.
const { app } = await import("@azure/functions");

const ELECTION = "nightly-billing";
const TEN = timerPayload(DUE);

let store: MemoryLeaseStore;
let open: AsyncDisposableStack;
let functions = 0;

beforeEach(() => {
  store = new MemoryLeaseStore();
  open = new AsyncDisposableStack();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await open.disposeAsync();
});

type Handler = Parameters<typeof onlyAsLeader<MemoryLeaseStore, unknown>>[1];

/** Registers a timer's function under a name of its own. */
function register(handler: Handler, options: object = {}): string {
  functions += 1;
  const name = `function${functions}`;
  app.timer(name, { schedule: "0 0 * * * *", handler: onlyAsLeader({ store, election: ELECTION, ...options }, handler) });
  return name;
}

describe("a timer's function of @azure/functions", () => {
  test("leads, by the function's and the invocation's name, and has given the lease up by the time it returns", async () => {
    const name = register((timer, context, leadership) => [timer.isPastDue, context.functionName, leadership.candidateId]);

    const { returnValue } = await invoke(name, TEN);

    expect(returnValue).toEqual([false, name, expect.stringMatching(new RegExp(`^${name}-invocation-`))]);
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 1 });
  });

  test("fails where an earlier delivery of the same timer works, and may have died", async () => {
    const gate = open.use(await Gate.start());
    const name = register(async () => await fetch(gate.url));
    const working = invoke(name, TEN);
    await gate.arrival;

    await expect(invoke(name, TEN)).rejects.toMatchObject({ code: "ALREADY_CLAIMED" });
    gate.open();
    await working;
  });
});
