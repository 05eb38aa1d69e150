import { BlobLeaseStore } from "@leasehold/azure-blob";
import { ConfigurationError, Elector, LeaseLostError, Observer, type Leader, type Leadership } from "@leasehold/core";
import { describe, expect } from "vitest";
import type { ProxiedRequest } from "@leasehold/test-kit/faults/request-log";
import { ELECTION, LEASE_MS, win } from "@leasehold/test-kit/acquisitions";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { onlyFor } from "@leasehold/test-kit/faults/fault-proxy";
import { test } from "./world-test.ts";

describe("electors on blobs", () => {
  test("lead one at a time, in rising terms, when leaders stop and when they crash", async ({ world }) => {
    const candidates = ["a", "b", "c"].map((id) => world.candidate(id, { value: `http://${id}` }));
    const stopping = candidates.map(() => new AbortController());
    const led: Array<{ readonly by: string; readonly term: number }> = [];
    let leaders = 0;
    const runs = candidates.map(({ elector }, index) =>
      elector.run(
        async (leadership) => {
          led.push({ by: leadership.candidateId, term: leadership.term });
          leaders += 1;
          expect(leaders).toBe(1);
          await untilAborted(leadership);
          leaders -= 1;
        },
        { signal: stopping[index]!.signal },
      ),
    );

    for (let handovers = 0; handovers < 3; handovers += 1) {
      await world.until(() => candidates.some(({ elector }) => elector.isLeader));
      const index = candidates.findIndex(({ elector }) => elector.isLeader);
      stopping[index]!.abort();
      await world.settled(runs[index]!);
    }

    expect(led.map(({ term }) => term)).toEqual([1, 2, 3]);
    expect(new Set(led.map(({ by }) => by)).size).toBe(3);
    expect(world.clock.nextTimerInMs).toBeUndefined();
  });

  test("take over from a leader that crashed within a lease and a look, on the grid that it published", async ({ world }) => {
    const crashed = world.candidate("a");
    await world.settled(crashed.elector.campaign());
    // Long enough for the grid to be sharp and for the standby to know the service's clock.
    const standby = world.candidate("b");
    const leads = standby.elector.campaign();
    await world.pass(30_000);
    // Nothing of the crashed one comes through any more; the standby has a network of its own.
    let lastRenewalMs = 0;
    const ids = new Set(
      world.requests.filter(({ name }) => name === "lease:renew").map(({ headers }) => headers["x-ms-lease-id"]),
    );
    await world.until(() => world.requests.at(-1)?.name === "lease:renew");
    lastRenewalMs = world.clock.monotonicMs();
    world.proxy.rule = ({ headers }) => (ids.has(headers["x-ms-lease-id"]) ? { kind: "cut", side: "before" } : undefined);

    await world.until(() => standby.elector.isLeader);

    const tookMs = world.clock.monotonicMs() - lastRenewalMs;
    expect(tookMs).toBeGreaterThan(LEASE_MS - 1_500);
    expect(tookMs).toBeLessThan(LEASE_MS + 2_500);
    expect(crashed.elector.isLeader).toBe(false);
    world.proxy.rule = undefined;
    await (await leads).release();
  });

  test("step down in time when they are cut off, and lead again when that has healed", async ({ world }) => {
    const { elector, events } = world.candidate("a");
    const stopping = new AbortController();
    const leaderships: Leadership[] = [];
    const abortedAtMs: number[] = [];
    const running = elector.run(
      async (leadership) => {
        leaderships.push(leadership);
        await untilAborted(leadership);
        abortedAtMs.push(world.clock.monotonicMs());
      },
      { signal: stopping.signal },
    );
    await world.until(() => elector.isLeader);
    await world.pass(12_000);
    const renewals = world.requests.filter(({ name }) => name === "lease:renew");
    expect(renewals.length).toBeGreaterThanOrEqual(2);
    const lastRenewalMs = world.clock.monotonicMs() - 2_000;

    world.partition(true);
    await world.until(() => abortedAtMs.length > 0);
    expect(abortedAtMs[0]! - lastRenewalMs).toBeGreaterThan(9_000);
    expect(abortedAtMs[0]! - lastRenewalMs).toBeLessThan(11_000);
    expect(leaderships[0]?.signal.reason).toMatchObject({ code: "LEASE_LOST", reason: "renew-deadline" });
    await world.pass(LEASE_MS);
    expect(elector.isLeader).toBe(false);

    world.partition(false);
    await world.until(() => elector.isLeader);
    expect(leaderships.map(({ term }) => term)).toEqual([1, 2]);
    expect(events.all("storeFailed")).not.toEqual([]);
    stopping.abort();
    await world.settled(running);
  });

  test("a renewal that succeeds after the lease has run out proves nothing: the term is over", async ({ world }) => {
    const { elector } = world.candidate("a");
    const leadership = await world.settled(elector.campaign());
    const startMs = world.clock.monotonicMs();
    // Renewals fail from 5 s on; one that is sent at about 9 s is late.
    const reply = Promise.withResolvers<void>();
    let late: ProxiedRequest | undefined;
    world.proxy.rule = (request) => {
      if (request.name !== "lease:renew") return undefined;
      if (world.clock.monotonicMs() - startMs < 8_500) return { kind: "cut", side: "before" };
      late = request;
      return { kind: "hold", until: reply.promise };
    };
    await world.until(() => late !== undefined);

    // The process is frozen with that renewal under way; nobody else takes the lease, and so the service renews it.
    await world.freeze(6_500);
    reply.resolve();
    await world.until(() => late?.answeredMs !== undefined);
    expect(late?.deliveries).toMatchObject([{ status: 200 }]);
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "leased" });

    expect(elector.isLeader).toBe(false);
    expect(leadership.signal.aborted).toBe(true);
    expect(leadership.signal.reason).toBeInstanceOf(LeaseLostError);
    expect(leadership.signal.reason).toMatchObject({ reason: "expired" });
    const sent = await world.namesDuring(() => world.settled(leadership.release()));
    expect(sent).not.toContain("lease:release");
    expect(sent).not.toContain("lease:renew");
  });

  test("a win that comes after its own deadline is released, and nobody leads", async ({ world }) => {
    const { elector, store } = world.candidate("a", { attemptTimeoutMs: 2_500 });
    await store.release(await win(store), { timeoutMs: 1_000 });
    const late = world.holdOnce("metadata");
    const stopping = new AbortController();
    const attempt = elector.tryRun(() => expect.fail("It must not lead."), { signal: stopping.signal });
    await late.arrived;
    await world.freeze(11_000);
    await late.letGo();

    await expect(attempt).resolves.toMatchObject({ elected: false });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 2 });
  });

  test("a win that comes after the caller's abort is released before the call settles", async ({ world }) => {
    const { elector, store } = world.candidate("a");
    await store.release(await win(store), { timeoutMs: 1_000 });
    const late = world.holdOnce("lease:acquire");
    const stopping = new AbortController();
    const campaign = world.witness.failureOf(elector.campaign({ signal: stopping.signal }));
    await late.arrived;
    const reason = new Error("the caller's own");
    stopping.abort(reason);
    await late.letGo();

    await expect(campaign).resolves.toBe(reason);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 2 });
  });

  test("a throttled renewal is tried again when the service asks for that, within the budget", async ({ world }) => {
    const { elector } = world.candidate("a");
    const leadership = await world.settled(elector.campaign());
    const startMs = world.clock.monotonicMs();
    const sentMs: number[] = [];
    world.proxy.rule = ({ name }) => {
      if (name !== "lease:renew") return undefined;
      sentMs.push(world.clock.monotonicMs() - startMs);
      return sentMs.length === 1
        ? { kind: "answer", status: 503, headers: { "x-ms-error-code": "ServerBusy", "Retry-After": "2" } }
        : undefined;
    };

    await world.until(() => sentMs.length === 2);

    expect(sentMs[1]! - sentMs[0]!).toBeGreaterThan(1_990);
    expect(sentMs[1]! - sentMs[0]!).toBeLessThan(2_300);
    await world.settled(leadership.release());
    expect(leadership.signal.reason).not.toBeInstanceOf(LeaseLostError);
  });

  test("a leadership publishes what observers read, and they see it end", async ({ world }) => {
    const { elector } = world.candidate("a", { value: "http://a" });
    const leadership = await world.settled(elector.campaign());
    const seen: Array<Leader | undefined> = [];
    const watching = new AbortController();
    const observer = new Observer({ store: world.store(), election: ELECTION, clock: world.clock });
    const observing = (async () => {
      for await (const leader of observer.observe({ signal: watching.signal })) seen.push(leader);
    })();
    await world.until(() => seen.length === 1);
    await leadership.publish("http://a:8080");
    await world.until(() => seen.length === 2);
    await world.pass(61_000);
    await world.until(() => seen.length === 3);
    await world.settled(leadership.release());
    await world.until(() => seen.length === 4);
    watching.abort();
    await world.settled(observing);

    expect(seen).toEqual([
      { candidateId: "a", term: 1, value: "http://a", state: "unknown" },
      { candidateId: "a", term: 1, value: "http://a:8080", state: "unknown" },
      { candidateId: "a", term: 1, value: "http://a:8080", state: "held" },
      undefined,
    ]);
    expect(world.requests.some(({ name }) => name === "metadata")).toBe(true);
  });

  test("a blob that is not a lease is an event of the elector that goes on, and is never written", async ({ world }) => {
    await world.container.create();
    await world.container.getBlockBlobClient(ELECTION).upload("report", 6);
    const { elector, events } = world.candidate("a");
    const stopping = new AbortController();
    const running = elector.run(() => undefined, { signal: stopping.signal });
    await world.until(() => events.all("storeFailed").length >= 3);
    stopping.abort();
    await world.settled(running);

    expect(events.all("storeFailed")[0]).toMatchObject({ error: { code: "FOREIGN_RECORD" } });
    expect((await world.blob.downloadToBuffer()).toString()).toBe("report");
    expect(new Set(world.requests.map(({ name }) => name))).toEqual(new Set(["head"]));
  });

  test("a service that refuses everything elects nobody, and the elector is there when it is back", async ({ world }) => {
    const { elector, events } = world.candidate("a");
    world.proxy.rule = () => ({ kind: "answer", status: 503, headers: { "x-ms-error-code": "ServerBusy" } });
    const leads = elector.campaign();
    await world.pass(20_000);
    expect(elector.isLeader).toBe(false);
    world.proxy.rule = undefined;

    const leadership = await world.settled(leads);

    expect(leadership.isValid()).toBe(true);
    expect(events.all("storeFailed").length).toBeGreaterThan(5);
    await leadership.release();
  });

  test("a term write that never comes through elects nobody, and bars nobody", async ({ world }) => {
    const unlucky = world.candidate("a");
    const stopping = new AbortController();
    world.proxy.rule = onlyFor("metadata", { kind: "black-hole", side: "request" });
    const running = unlucky.elector.run(() => expect.fail("It must not lead."), { signal: stopping.signal });
    await world.until(() => unlucky.events.all("storeFailed").length > 0);
    stopping.abort();
    await world.settled(running);
    world.proxy.rule = undefined;

    await expect(world.candidate("b").elector.tryRun(({ term }) => term)).resolves.toMatchObject({ elected: true, term: 1 });
  });

  test("an election that the store has no place for is an error, and not a wait for ever", async ({ world }) => {
    const store = new BlobLeaseStore({ blob: world.proxied.getBlobClient("another"), clock: world.clock });
    const elector = new Elector({ store, election: ELECTION, clock: world.clock });

    const error = await world.witness.failureOf(world.settled(elector.run(() => expect.fail("It must not lead."))));

    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain("'another'");
  });
});

describe("an elector's lease on a blob", () => {
  test.for([
    [14_000, /leaseDurationMs is 14000; this store takes 15000 to 60000/],
    [61_000, /leaseDurationMs is 61000; this store takes 15000 to 60000/],
    [15_500, /leaseDurationMs is 15500; this store takes multiples of 1000/],
    [Infinity, /leaseDurationMs is Infinity/],
  ] as const)("of %d ms is refused when the elector is made", ([leaseDurationMs, message], { world }) => {
    const make = (): Elector => new Elector({ store: world.store(), election: ELECTION, leaseDurationMs });

    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(message);
  });

  test.for([15_000, 16_000, 60_000])("of %d ms is taken, and lasts that long", async (leaseDurationMs, { world }) => {
    const store = world.store();
    await win(store, { leaseDurationMs });
    await world.forward(leaseDurationMs - 2_000);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "unknown", leaseDurationMs });
    await world.forward(5_000);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "expired" });
  });

  test.for([14_000, 61_000, 15_500, -1, Infinity])(
    "of %d ms is refused by the store itself, before any request",
    async (leaseDurationMs, { world }) => {
      const store = world.store();
      const sent = await world.namesDuring(() =>
        expect(win(store, { leaseDurationMs })).rejects.toBeInstanceOf(ConfigurationError),
      );
      expect(sent).toEqual([]);
    },
  );
});
