import { ConfigurationError, MemoryLeaseStore } from "@leasehold/core";
import { onlyAsLeader, type AzureFunctionOptions } from "@leasehold/functions/azure-functions";
import { MovableClock } from "@leasehold/test-kit/clocks/movable-clock";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { invoke, timerPayload } from "./azure-worker.ts";
import { DUE, DUE_BEFORE } from "./due.ts";
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

  test("skips where another region works, without an error", async () => {
    const gate = open.use(await Gate.start());
    const name = register(async () => await fetch(gate.url));
    vi.stubEnv("REGION_NAME", "West Europe");
    const working = invoke(name, TEN);
    await gate.arrival;

    vi.stubEnv("REGION_NAME", "East US");
    const { returnValue } = await invoke(name, TEN);

    expect(returnValue).toMatchObject({ elected: false, reason: "claimed", leader: { term: 1 } });
    gate.open();
    await working;
  });

  test("gives the lease up when its handler throws, and the worker gets the error", async () => {
    const name = register(() => Promise.reject(new Error("no such account")));

    await expect(invoke(name, TEN)).rejects.toThrow("no such account");
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "vacant" });
  });

  test("does each occurrence once, by when it was due", async () => {
    const name = register((_timer, _context, { occurrence }) => occurrence?.id, { gate: "oncePerTick" });

    await expect(invoke(name, TEN)).resolves.toMatchObject({ returnValue: `${name}@${DUE}` });
    // The same time, as a region with another time zone writes it.
    await expect(invoke(name, timerPayload(inAnotherZone(DUE)))).resolves.toMatchObject({
      returnValue: { elected: false },
    });
    await expect(invoke(name, timerPayload(DUE_BEFORE))).resolves.toMatchObject({
      returnValue: `${name}@${DUE_BEFORE}`,
    });
  });

  test("refuses an invocation before its time, which would do what is yet to come", async () => {
    const name = register(() => "ran", { gate: "oncePerTick" });
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();

    await expect(invoke(name, timerPayload(tomorrow))).rejects.toThrow(/yet to come.*runOnStartup/);
  });

  test("says what it needs of a timer without a monitor", async () => {
    const name = register(() => "ran", { gate: "oncePerTick" });

    await expect(invoke(name, timerPayload(undefined))).rejects.toThrow(/scheduleStatus\.next is missing.*Pass 'occurrence'/);
  });
});

describe("the time of an Azure function", () => {
  /** Returns the time for which its leadership is valid at the beginning. */
  async function validForMs(options: AzureFunctionOptions = {}): Promise<number> {
    // Use a clock that does not move.
    const clock = new MovableClock();
    const own = { clock, store: new MemoryLeaseStore({ clock }) };
    const name = register((_timer, _context, leadership) => leadership.remainingMs(), { ...options, ...own });
    return Number((await invoke(name, TEN)).returnValue);
  }

  test.each([
    [undefined, {}, 300_000],
    ["00:10:00", {}, 600_000],
    ["1.00:00:00", {}, 86_400_000],
    ["-1", {}, 86_400_000],
    ["00:10:00", { functionTimeoutMs: 30_000 }, 30_000],
  ])("with the app setting %s and the options %j is %d ms", async (setting, options, timeoutMs) => {
    vi.stubEnv("AzureFunctionsJobHost__functionTimeout", setting);

    const ms = await validForMs(options);

    expect(ms).toBeGreaterThan(timeoutMs);
    expect(ms).toBeLessThan(timeoutMs + 2_000);
  });

  test("is not guessed from a setting that is none", () => {
    vi.stubEnv("AzureFunctionsJobHost__functionTimeout", "ten minutes");

    expect(() => register(() => "ran")).toThrow(ConfigurationError);
  });
});

function inAnotherZone(instant: string): string {
  return new Date(Date.parse(instant) + 3_600_000).toISOString().replace("Z", "+01:00");
}
