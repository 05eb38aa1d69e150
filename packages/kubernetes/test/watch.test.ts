import { isLeaseholdError } from "@leasehold/core";
import { ProcessClock, promptNetwork, VirtualClock, type Network } from "@leasehold/core/testing";
import { failure } from "@leasehold/test-kit/simulated/kubernetes-objects";
import { simulatedTransport } from "@leasehold/test-kit/simulated/kubernetes-transport";
import { expect, test } from "vitest";
import { KubernetesRecordStore } from "../src/kubernetes-record-store.ts";
import { failureOf, type Json } from "../src/transport.ts";
import { ELECTION, KubernetesWorld } from "./kubernetes-world.ts";

/** A watch, and the number of its wake-ups so far. */
class Watched {
  readonly world = new KubernetesWorld();
  readonly stopping = new AbortController();
  /** While true, nothing of a watch arrives, and no connection breaks. */
  isSilent = false;
  wakeUps = 0;
  readonly ended: Promise<unknown>;

  constructor() {
    const process = new ProcessClock(this.world.clock);
    const prompt = promptNetwork(1);
    const network: Network = (request) => (this.isSilent && request.operation === "watch" ? { arrivals: [] } : prompt(request));
    const transport = simulatedTransport({ api: this.world.api, world: this.world.clock, process, network, failureOf });
    const records = new KubernetesRecordStore(transport, "default", process);
    this.ended = (async () => {
      for await (const _ of records.watch(ELECTION, { signal: this.stopping.signal })) this.wakeUps += 1;
    })().catch((error: unknown) => error);
  }

  /** Returns the wake-ups that a change causes. */
  async after(change: () => unknown, ms = 10): Promise<number> {
    await this.world.clock.advance(10);
    const before = this.wakeUps;
    await change();
    await this.world.clock.advance(ms);
    return this.wakeUps - before;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.world.clock.runUntil(this.ended);
  }
}

test("a watch wakes when it stands, at an acquisition, a break and a release, and not at a renewal or a bookmark", async () => {
  const watched = new Watched();
  const { api, clock } = watched.world;
  await clock.advance(10);
  expect(watched.wakeUps).toBe(1);
  const store = watched.world.store();
  const limits = { timeoutMs: 5_000 };
  const request = { election: ELECTION, candidateId: "a", leaseDurationMs: 15_000, renewIntervalMs: 5_000, ...limits };
  let outcome: Awaited<ReturnType<typeof store.acquire>> | undefined;
  expect(await watched.after(async () => (outcome = await clock.runUntil(store.acquire(request))))).toBe(1);
  if (!outcome?.acquired) throw new Error("The lease was not acquired.");
  const { lease } = outcome;
  expect(await watched.after(() => clock.runUntil(store.renew(lease, limits)))).toBe(0);
  expect(await watched.after(() => api.bookmark())).toBe(0);
  expect(await watched.after(() => clock.runUntil(store.break(ELECTION, { reason: "stuck" })))).toBe(1);
  expect(await watched.after(() => clock.runUntil(store.release(lease, limits)))).toBe(1);
  expect(await watched.after(() => api.remove(ELECTION))).toBe(1);
  await watched.stop();
});

test.for([
  ["the server says 410 Gone", (watched: Watched) => watched.world.api.expireWatches(), 100],
  ["the server ends the watch after its time", () => undefined, 241_000],
] as const)("a watch begins anew when %s, and then wakes only at a change", async ([, end, ms]) => {
  const watched = new Watched();
  const { api, clock } = watched.world;
  api.overwrite(ELECTION, { spec: { holderIdentity: "ours" } });
  await clock.advance(2_000);
  // A wake-up without a change would hide that a gateway lets no event through.
  expect(await watched.after(() => end(watched), ms)).toBe(0);
  expect(await watched.after(() => api.overwrite(ELECTION, { spec: { holderIdentity: "go" } }))).toBe(1);
  // The watch dies without a word: neither this change nor the server's own end of the watch arrives.
  watched.isSilent = true;
  expect(await watched.after(() => api.overwrite(ELECTION, { spec: { holderIdentity: "other" } }), 245_000)).toBe(0);
  watched.isSilent = false;
  expect(await watched.after(() => undefined, 10_000)).toBe(1);
  expect(await watched.after(() => api.overwrite(ELECTION, { spec: { holderIdentity: "ours" } }))).toBe(1);
  await watched.stop();
});

test("a watch that the server ends at once, or refuses, fails: its caller waits before the next", async () => {
  for (const [ms, goesOn] of [
    [10, false],
    [998, false],
    [999, true],
  ] as const) {
    const once = new Watched();
    await once.world.clock.advance(ms);
    once.world.api.expireWatches();
    // The end arrives a millisecond later.
    await once.world.clock.advance(10);
    if (goesOn) await once.stop();
    const early = { code: "STORE_UNAVAILABLE", operation: "watch", election: ELECTION, mayHaveBeenApplied: false };
    const ended = await once.world.clock.runUntil(once.ended);
    if (goesOn) expect(ended, `after ${ms} ms`).toBeUndefined();
    else expect(ended, `after ${ms} ms`).toMatchObject(early);
  }
  const refused = new Watched();
  refused.world.api.intercept = () => failure(403, "Forbidden", "the account may not watch");
  expect(isLeaseholdError(await refused.world.clock.runUntil(refused.ended), "STORE_DENIED")).toBe(true);
});

/** Watches on a server that sends these events. Ends at the first wake-up, or goes on. Returns the request's signal. */
async function watchEvents(events: readonly Json[], endsAtOnce: boolean): Promise<AbortSignal | undefined> {
  let sent: AbortSignal | undefined;
  const watch = async (_: string, signal: AbortSignal): Promise<AsyncIterable<Json>> => {
    sent = signal;
    return await Promise.resolve(
      (async function* () {
        yield* events;
      })(),
    );
  };
  const records = new KubernetesRecordStore({ watch, call: () => expect.fail("not sent") }, "default", new VirtualClock());
  for await (const _ of records.watch(ELECTION, { signal: new AbortController().signal })) if (endsAtOnce) break;
  return sent;
}

test("a caller that stops at the first wake-up ends the request", async () => {
  expect((await watchEvents([], true))?.aborted).toBe(true);
});

test("an error in place of an event fails the watch", async () => {
  const failed = (object: Json): Promise<unknown> => watchEvents([{ type: "ERROR", object }], false);
  await expect(failed({ kind: "Status", code: 403, message: "no" })).rejects.toMatchObject({ code: "STORE_DENIED" });
  await expect(failed({})).rejects.toThrow("HTTP 0: the answer does not come from Kubernetes' API server.");
});
