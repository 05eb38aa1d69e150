import { StoreError, type LeaseSnapshot } from "@leasehold/core";
import {
  RecordLeaseStore,
  type Lease,
  type LeaseRecord,
  type PutOutcome,
  type RecordStore,
  type StoredRecord,
} from "@leasehold/core/provider";
import { ProcessClock, promptNetwork, SimulatedRecordService, VirtualClock, type Network } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { LEASE_MS, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";

const ELECTION = "nightly-billing";
const LIMITS = { timeoutMs: 5_000 };

/** A holder, and a watcher whose replies, but not what is pushed to it, take as long as the test says. */
async function watched({ latencyMs = 10 } = {}) {
  const world = new VirtualClock();
  const service = new SimulatedRecordService(world, { pushes: "every-write", storeClock: { toleranceMs: 0, exact: true } });
  const storeOf = (network: Network): RecordLeaseStore => {
    const clock = new ProcessClock(world);
    return new RecordLeaseStore(service.connect(clock, network), { clock });
  };
  const line = { replyAfterMs: latencyMs };
  const prompt = promptNetwork(10);
  const holder = storeOf(prompt);
  const watcher = storeOf((request) =>
    request.operation === "watch" ? prompt(request) : { arrivals: [{ afterMs: 10, replyAfterMs: line.replyAfterMs }] },
  );
  const asking = { election: ELECTION, candidateId: "a", leaseDurationMs: LEASE_MS, renewIntervalMs: RENEW_INTERVAL_MS };
  const outcome = await world.runUntil(holder.acquire({ ...asking, ...LIMITS }));
  const lease = (outcome as { lease: Lease }).lease;
  const stopping = new AbortController();
  const pushed: Array<LeaseSnapshot | undefined> = [];
  const watch = async (): Promise<void> => {
    for await (const snapshot of watcher.watch!(ELECTION, { signal: stopping.signal })) pushed.push(snapshot);
  };
  return { world, service, holder, watcher, lease, line, pushed, watch };
}

describe("a release that is pushed while a look is under way", () => {
  test("is not undone by the look's reply, which is older", async () => {
    const { world, holder, watcher, lease, line, pushed, watch } = await watched();
    void watch();
    await world.advance(100);
    line.replyAfterMs = 1_000;
    const look = watcher.read(ELECTION, LIMITS);
    await world.advance(50);
    await world.runUntil(holder.release(lease, LIMITS));
    await world.advance(50);
    expect(pushed.at(-1)?.state).toBe("vacant");

    await expect(world.runUntil(look)).resolves.toMatchObject({ state: "vacant" });
    expect(watcher.nextLookMs(ELECTION, 2_000)).toBeLessThanOrEqual(2_000);
  });

  test("is not undone where the first thing of all that was seen is the push", async () => {
    const { world, holder, watcher, lease, line, watch } = await watched();
    line.replyAfterMs = 1_000;
    const look = watcher.read(ELECTION, LIMITS);
    await world.advance(50);
    await world.runUntil(holder.release(lease, LIMITS));
    void watch();
    await world.advance(50);

    await expect(world.runUntil(look)).resolves.toMatchObject({ state: "vacant" });
  });
});

test("a release that is pushed while a look that is repeated is under way is acted on, though its reply is older, too", async () => {
  const { world, holder, watcher, lease, line, pushed, watch } = await watched();
  void watch();
  await world.advance(100);
  line.replyAfterMs = 500;
  const look = watcher.read(ELECTION, LIMITS);
  await world.advance(50);
  await world.runUntil(holder.renew(lease, LIMITS));
  await world.advance(500);
  await world.runUntil(holder.release(lease, LIMITS));
  await world.runUntil(look);
  expect(pushed.at(-1)?.state).toBe("vacant");

  const asking = { candidateId: "b", leaseDurationMs: LEASE_MS, renewIntervalMs: RENEW_INTERVAL_MS };
  const acquiring = watcher.acquire({ election: ELECTION, ...asking, ...LIMITS });

  await expect(world.runUntil(acquiring)).resolves.toMatchObject({ acquired: true });
});

test("a look whose reply is newer than what was pushed meanwhile counts", async () => {
  const { world, holder, watcher, lease, line, watch } = await watched();
  void watch();
  await world.advance(100);
  await world.runUntil(holder.publish(lease, "one", LIMITS));
  // Pushed while the look is on its way, which finds what comes after it.
  line.replyAfterMs = 5;
  const look = watcher.read(ELECTION, LIMITS);
  await world.runUntil(holder.publish(lease, "two", LIMITS));

  await expect(world.runUntil(look)).resolves.toMatchObject({ state: "held" });
  await world.advance(50);
  await expect(world.runUntil(watcher.read(ELECTION, LIMITS))).resolves.toMatchObject({ value: "two" });
});

test("a record that was put back to what it was is seen, however it was pushed before", async () => {
  const { world, service, holder, watcher, lease, watch } = await watched();
  void watch();
  await world.advance(100);
  const before = service.record(ELECTION);
  await world.runUntil(holder.release(lease, LIMITS));
  await world.advance(100);
  service.overwrite(ELECTION, before);

  await expect(world.runUntil(watcher.read(ELECTION, LIMITS))).resolves.toMatchObject({ state: "held", term: lease.term });
});

test("looks settle however often something is pushed", async () => {
  const { world, holder, watcher, lease, line, watch } = await watched();
  void watch();
  await world.advance(100);
  line.replyAfterMs = 300;
  const look = watcher.read(ELECTION, LIMITS);
  let pending = true;
  void look.then(() => (pending = false));
  for (let writes = 0; writes < 60 && pending; writes += 1) await world.runUntil(holder.publish(lease, `${writes}`, LIMITS));

  expect(pending).toBe(false);
});

describe("pushes that lag behind what is read", () => {
  /** A store whose service shows, pushes and answers what the test says. */
  function scripted() {
    const clock = new VirtualClock();
    const held: LeaseRecord = {
      schema: 1,
      term: 5,
      termId: "t5",
      candidateId: "a",
      nonce: "n1",
      leaseDurationMs: LEASE_MS,
      renewIntervalMs: RENEW_INTERVAL_MS,
    };
    const stored = (version: number, change: Partial<LeaseRecord> = {}): StoredRecord => ({
      version: `v${version}`,
      data: { ...held, nonce: `n${version}`, ...change },
    });
    const service = { present: stored(1), putReply: Promise.withResolvers<PutOutcome>() };
    const sent: LeaseRecord[] = [];
    const streams: Array<(next: StoredRecord) => void> = [];
    const records: RecordStore = {
      name: "scripted",
      capabilities: { maxValueBytes: 100, fence: "none", storeClock: undefined, pushes: "every-write" },
      get: () => Promise.resolve(service.present),
      put: (_, record) => {
        sent.push(record);
        return service.putReply.promise;
      },
      async *watch() {
        let next = Promise.withResolvers<StoredRecord>();
        streams.push((one) => next.resolve(one));
        for (;;) {
          const one = await next.promise;
          next = Promise.withResolvers();
          yield one;
        }
      },
    };
    const store = new RecordLeaseStore(records, { clock });
    const states: Array<string | undefined> = [];
    const watch = async (): Promise<void> => {
      for await (const snapshot of store.watch!(ELECTION, { signal: new AbortController().signal })) states.push(snapshot?.state);
    };
    void watch();
    const push = async (next: StoredRecord, stream = 0): Promise<void> => {
      streams[stream]?.(next);
      await clock.advance(10);
    };
    const asking = { candidateId: "b", leaseDurationMs: LEASE_MS, renewIntervalMs: RENEW_INTERVAL_MS, timeoutMs: 2_000 };
    const acquire = async (): Promise<unknown> => store.acquire({ election: ELECTION, ...asking });
    return { clock, service, store, stored, states, watch, push, sent, acquire };
  }

  test("the newest one counts, although a look has shown it before one that is older", async () => {
    const { service, store, stored, states, push } = scripted();
    await push(stored(1));
    const released = stored(3, { termId: null });
    service.present = released;
    await store.read(ELECTION);
    await push(stored(2));
    await push(released);

    expect(states.at(-1)).toBe("vacant");
    expect(store.nextLookMs(ELECTION, 2_000)).toBeLessThanOrEqual(2_000);
  });

  test("the newest one counts, although another watch has shown it before this one shows an older one", async () => {
    const { store, stored, states, watch, push } = scripted();
    void watch();
    const released = stored(3, { termId: null });
    await push(stored(1), 0);
    await push(stored(1), 1);
    await push(released, 1);
    await push(stored(2), 0);
    await push(released, 0);

    expect(states.at(-1)).toBe("vacant");
    expect(store.nextLookMs(ELECTION, 2_000)).toBeLessThanOrEqual(2_000);
  });

  test("no acquisition is turned down for an older one, which another watch has shown after the newest", async () => {
    const { service, stored, watch, push, acquire } = scripted();
    void watch();
    void watch();
    const released = stored(3, { termId: null });
    service.present = released;
    service.putReply.resolve({ stored: true, version: "v4" });
    for (const stream of [0, 1, 2]) await push(stored(1), stream);
    // Of two changes that come at once, a watch may show the later one alone.
    await push(released, 1);
    await push(stored(2), 0);
    await push(stored(2), 2);

    await expect(acquire()).resolves.toMatchObject({ acquired: true });
  });

  test("a version that any of the watches has shown to have passed is known as past", async () => {
    const { stored, states, watch, push } = scripted();
    void watch();
    for (const stream of [0, 1]) await push(stored(1), stream);
    await push(stored(2, { termId: null }), 0);
    await push(stored(1), 1);

    expect(states).toEqual(["unknown", "unknown", "vacant"]);
  });

  test("a version is known as past, however many came after it", async () => {
    const { stored, states, push } = scripted();
    for (const version of [1, 2, 3]) await push(stored(version));
    await push(stored(4, { termId: null }));
    await push(stored(1));

    expect(states).toEqual(["unknown", "unknown", "unknown", "vacant"]);
  });

  test("an acquisition that failed meanwhile is still known as abandoned when it arrives", async () => {
    const { clock, service, store, stored, push, sent, acquire } = scripted();
    service.present = stored(1, { termId: null });
    await store.read(ELECTION);
    const acquiring = acquire();
    acquiring.catch(() => undefined);
    await clock.advance(10);
    await push(stored(0));
    service.putReply.reject(
      new StoreError("STORE_TIMEOUT", "lost", { store: "scripted", operation: "put", mayHaveBeenApplied: true }),
    );
    await expect(acquiring).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await store.read(ELECTION);
    service.present = { version: "v2", data: sent[0] };

    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 6 });
  });

  test("what a refused write has met does not take the place of what was pushed since", async () => {
    const { clock, service, store, stored, states, push, acquire } = scripted();
    service.present = stored(1, { termId: null });
    await store.read(ELECTION);
    const acquiring = acquire();
    await clock.advance(10);
    const won = stored(2, { term: 6, termId: "t6", candidateId: "c" });
    const left = stored(3, { term: 6, termId: null, candidateId: "c" });
    await push(won);
    await push(left);
    service.present = left;
    service.putReply.resolve({ stored: false, current: won });

    await expect(acquiring).resolves.toMatchObject({ acquired: false, current: { state: "vacant", term: 6 } });
    expect(states.at(-1)).toBe("vacant");
    expect(store.nextLookMs(ELECTION, 2_000)).toBeLessThanOrEqual(2_000);
  });
});
