import type { BlobLeaseStore } from "@leasehold/azure-blob";
import type { LeaseSnapshot } from "@leasehold/core";
import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { onlyFor } from "@leasehold/test-kit/faults/fault-proxy";
import { LAPSE_MS, type BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

const RESERVED_MS = 120_000;
/** How late the end of a reservation may be found, plus the time of the requests. */
const LATE_MS = 3_000;

/** Returns the request of a candidate of a group. */
function of(group: string, options: Partial<AcquireRequest> = {}): AcquireRequest {
  return acquiring({ candidateId: group, reservation: { group, durationMs: RESERVED_MS }, ...options });
}

/** Lets a candidate of group west lead for a second. */
async function leadInWest(world: BlobWorld): Promise<{ readonly store: BlobLeaseStore; readonly lease: Lease }> {
  const store = world.store();
  const lease = await win(store, of("west"));
  await world.forward(1_000);
  await store.release(lease, LIMITS);
  return { store, lease };
}

/** Lets a candidate without memory acquire like an elector: it reads first. Leaves the election unchanged. */
async function admits(world: BlobWorld, request: AcquireRequest): Promise<boolean> {
  const store = world.store();
  await store.read(ELECTION);
  const outcome = await store.acquire(request);
  if (outcome.acquired) await store.release(outcome.lease, LIMITS);
  return outcome.acquired;
}

describe("a reservation", () => {
  test("reserves a free election for its group, also for new processes, and shows that", async ({ world }) => {
    await leadInWest(world);
    await world.forward(RESERVED_MS - 2_000);

    await expect(world.store().read(ELECTION)).resolves.toEqual({
      election: ELECTION,
      state: "vacant",
      term: 1,
      leaseDurationMs: LEASE_MS,
      bar: { kind: "reservation", group: "west" },
    });
    for (const request of [of("east"), acquiring({ candidateId: "nobody's" })]) {
      const sent = await world.namesDuring(() =>
        expect(world.store().acquire(request)).resolves.toMatchObject({
          acquired: false,
          current: { state: "vacant", bar: { kind: "reservation", group: "west" } },
        }),
      );
      expect(sent).toEqual(["head"]);
    }
    await expect(admits(world, of("west", { candidateId: "another of west" }))).resolves.toBe(true);
  });

  test("ends by the service's clock, for new processes and for those that have read it", async ({ world }) => {
    await leadInWest(world);
    const standby = world.store();
    await standby.read(ELECTION);
    await world.forward(RESERVED_MS + LATE_MS);

    expect(await world.store().read(ELECTION)).not.toHaveProperty("bar");
    await expect(admits(world, acquiring({ candidateId: "nobody's" }))).resolves.toBe(true);
    // It needs no new read, because its own clock has run on.
    await world.forward(RESERVED_MS + LATE_MS);
    await expect(standby.acquire(of("east"))).resolves.toMatchObject({ acquired: true });
    await expect(world.store().acquire(of("west"))).resolves.toMatchObject({ acquired: false });
  });

  test("costs nothing at an acquisition: it is written with the term", async ({ world }) => {
    const { store } = await leadInWest(world);

    const sent = await world.namesDuring(() => win(store, of("west")));

    expect(sent).toEqual(["lease:acquire", "metadata"]);
    await expect(world.blob.getProperties()).resolves.toMatchObject({
      metadata: { leasehold_term: "2", leasehold_group: "west", leasehold_reserved: String(RESERVED_MS) },
    });
  });

  test("is that of the last term: a term without one reserves nothing", async ({ world }) => {
    await leadInWest(world);
    const store = world.store();
    await world.forward(RESERVED_MS + LATE_MS);
    await store.release(await win(store), LIMITS);

    const { metadata } = await world.blob.getProperties();
    expect(metadata).not.toHaveProperty("leasehold_group");
    await expect(admits(world, of("east"))).resolves.toBe(true);
  });

  test("blocks a process that last read while the lease was held, and has not read its release", async ({ world }) => {
    const west = world.store();
    const lease = await win(west, of("west"));
    const east = world.store();
    await east.read(ELECTION);
    await west.release(lease, LIMITS);

    await expect(east.acquire(of("east"))).resolves.toMatchObject({ acquired: false });
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "available" });
  });

  test("blocks a process that last read before the whole term that made it: the lease is released", async ({ world }) => {
    const east = world.store();
    await east.release(await win(east), LIMITS);
    await leadInWest(world);

    const sent = await world.namesDuring(() => expect(east.acquire(of("east"))).resolves.toEqual({ acquired: false }));

    expect(sent).toEqual(["lease:acquire", "metadata", "head", "lease:release"]);
    await expect(win(world.store(), of("west"))).resolves.toMatchObject({ term: 3 });
  });

  test("counts from the holder's last write if the holder has crashed", async ({ world }) => {
    const store = world.store();
    const lease = await win(store, of("west"));
    await world.forward(10_000);
    await store.renew(lease, LIMITS);
    await store.publish(lease, "http://west", LIMITS);
    await world.forward(RESERVED_MS - 2_000);

    await expect(world.store().read(ELECTION)).resolves.toMatchObject({
      state: "expired",
      bar: { kind: "reservation", group: "west" },
    });
    await expect(admits(world, of("east"))).resolves.toBe(false);
    await world.forward(2_000 + LATE_MS);
    await expect(admits(world, of("east"))).resolves.toBe(true);
  });

  test("goes with a hold", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store, of("west")), { ...LIMITS, holdMs: 12_000 });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({
      state: "vacant",
      bar: { kind: "hold" },
    });
    await world.forward(13_000);

    await expect(admits(world, of("east"))).resolves.toBe(false);
    await expect(admits(world, of("west"))).resolves.toBe(true);
  });

  test("is replaced by an administrator's transfer", async ({ world }) => {
    await win(world.store(), of("west"));
    const outcome = world.store().transfer(ELECTION, "east");
    await world.proxy.waitFor(({ name, deliveries }) => name === "lease:break" && deliveries[0]?.status === 202);
    await world.forward(LAPSE_MS);

    await expect(world.store().acquire(of("west"))).resolves.toMatchObject({
      acquired: false,
      current: { bar: { kind: "transfer", candidateId: "east" } },
    });
    await expect(world.store().acquire(of("east"))).resolves.toMatchObject({ acquired: true });
    await expect(world.settled(outcome)).resolves.toBe("accepted");
  });

  test.for(["west 🌍/100 %", "界".repeat(85)])("of the group %j", async (group, { world }) => {
    const store = world.store();
    const value = "%".repeat(2_048);
    await store.release(await win(store, of(group, { candidateId: "界".repeat(85), value })), LIMITS);

    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ bar: { kind: "reservation", group } });
    await expect(admits(world, of("east"))).resolves.toBe(false);
    await expect(admits(world, of(group))).resolves.toBe(true);
  });

  test("that is invalid is refused before any request", async ({ world }) => {
    const sent = await world.namesDuring(async () => {
      for (const reservation of [
        { group: "", durationMs: 1 },
        { group: "\ud800", durationMs: 1 },
        { group: "west", durationMs: 0 },
        { group: "west", durationMs: Number.NaN },
      ]) {
        const error = await world.witness.failureOf(world.store().acquire(acquiring({ reservation })));
        expect(error).toMatchObject({ code: "CONFIGURATION" });
      }
    });
    expect(sent).toEqual([]);
  });
});

describe("a release by a term with a reservation", () => {
  test("reads whether the term was broken, and writes nothing if little of the reservation has passed", async ({ world }) => {
    const store = world.store();
    const lease = await win(store, of("west"));
    await world.forward(RESERVED_MS / 10 - 1);

    await expect(world.namesDuring(() => store.release(lease, LIMITS))).resolves.toEqual(["head", "lease:release"]);
  });

  test("makes it count from the end of the work if more of it has passed", async ({ world }) => {
    const store = world.store();
    const lease = await win(store, of("west"));
    await world.forward(RESERVED_MS / 10 + 1);

    await expect(world.namesDuring(() => store.release(lease, LIMITS))).resolves.toEqual(["head", "metadata", "lease:release"]);

    await world.forward(RESERVED_MS - 2_000);
    await expect(admits(world, of("east"))).resolves.toBe(false);
    // The process that wrote it knows the metadata.
    await expect(world.namesDuring(() => win(store, of("west")))).resolves.toEqual(["lease:acquire", "metadata"]);
  });

  test.for(["head", "metadata"])("still releases if the service refuses the %s before it", async (name, { world }) => {
    const store = world.store();
    const lease = await win(store, of("west"));
    await world.forward(RESERVED_MS / 10 + 1);
    world.proxy.rule = onlyFor(name, { kind: "answer", status: 503, headers: { "x-ms-error-code": "ServerBusy" } });

    await expect(store.release(lease, LIMITS)).resolves.toBe("released");

    world.proxy.rule = undefined;
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({
      state: "vacant",
      bar: { kind: "reservation", group: "west" },
    });
  });

  test("whose lease is already a successor's changes nothing", async ({ world }) => {
    const [west, east] = [world.store(), world.store()];
    const lease = await win(west, of("west", { reservation: { group: "west", durationMs: 1_000 } }));
    await world.forward(LAPSE_MS);
    const successor = await win(east, of("east"));
    const { etag } = await world.blob.getProperties();

    await expect(west.release(lease, LIMITS)).resolves.toBe("not-held");

    await expect(world.blob.getProperties()).resolves.toMatchObject({ etag, leaseState: "leased" });
    await expect(east.renew(successor, LIMITS)).resolves.toMatchObject({ held: true });
  });
});

describe("a break", () => {
  test("of a free election ends its reservation, with one conditional write", async ({ world }) => {
    const { store, lease } = await leadInWest(world);
    const admin = world.store();

    const sent = await world.requestsDuring(() =>
      expect(admin.break(ELECTION, { reason: "west is down", ifTerm: lease.term })).resolves.toEqual({ broken: true, term: 1 }),
    );

    expect(sent.map(({ name }) => name)).toEqual(["head", "metadata"]);
    expect(sent.at(-1)?.headers).toMatchObject({ "if-match": expect.any(String) });
    expect(await world.store().read(ELECTION)).not.toHaveProperty("bar");
    await expect(admits(world, of("east"))).resolves.toBe(true);
    // It also ends for a process that has read or written the reservation, once it reads again.
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "vacant" });
    await expect(world.store().break(ELECTION, { reason: "again", ifTerm: 1 })).resolves.toMatchObject({ broken: false });
  });

  test("of an expired term with a reservation also ends it, and the administrator's own store knows that", async ({ world }) => {
    await win(world.store(), of("west"));
    await world.forward(LAPSE_MS);
    const admin = world.store();

    await expect(admin.break(ELECTION, { reason: "west is down" })).resolves.toEqual({ broken: true, term: 1 });

    await expect(admin.acquire(of("east"))).resolves.toMatchObject({ acquired: true });
  });

  test("of a reservation that has run out breaks nothing", async ({ world }) => {
    await leadInWest(world);
    await world.forward(RESERVED_MS + LATE_MS);

    const sent = await world.namesDuring(() =>
      expect(world.store().break(ELECTION, { reason: "west is down" })).resolves.toMatchObject({
        broken: false,
        current: { state: "vacant", term: 1 },
      }),
    );

    expect(sent).toEqual(["head"]);
  });

  test("of a reservation does not end a new term of the group", async ({ world }) => {
    await leadInWest(world);
    const late = world.holdOnce("metadata");
    const breaking = world.store().break(ELECTION, { reason: "west is down" });
    await late.arrived;
    const store = world.store();
    const lease = await win(store, of("west"));
    await late.letGo();

    const outcome = await breaking;

    expect(outcome).toMatchObject({ broken: false, current: { term: 2 } });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await expect(world.blob.getProperties()).resolves.toMatchObject({ metadata: { leasehold_group: "west" } });
  });

  test("of a reservation, while one of the group is about to lead again, breaks the term that it names", async ({ world }) => {
    await leadInWest(world);
    const late = world.holdOnce("metadata");
    const breaking = world.store().break(ELECTION, { reason: "west is down" });
    await late.arrived;
    // The lease is acquired, and its term not written yet. A write without the lease's id is refused, so the lease is broken
    // instead.
    const between = world.container.getBlobClient(ELECTION).getBlobLeaseClient();
    await between.acquireLease(15);
    await late.letGo();

    await expect(breaking).resolves.toEqual({ broken: true, term: 1 });
    await expect(world.blob.getProperties()).resolves.toMatchObject({ leaseState: "breaking" });
  });

  test.for(["learned", "not learned"] as const)(
    "of a held term ends its reservation too, also if the holder releases and has %s of it",
    async (how, { world }) => {
      const store = world.store();
      const lease = await win(store, of("west"));
      await world.store().break(ELECTION, { reason: "west is down" });
      if (how === "learned") await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken" });

      await expect(store.release(lease, LIMITS)).resolves.toBe("released");

      const seen = (await world.store().read(ELECTION)) as LeaseSnapshot;
      expect(seen).toMatchObject({ state: "vacant", term: 1 });
      expect(seen).not.toHaveProperty("bar");
      await expect(admits(world, of("east"))).resolves.toBe(true);
    },
  );

  test("of a held term ends its reservation too, if the holder lets it run out", async ({ world }) => {
    await win(world.store(), of("west"));
    await world.store().break(ELECTION, { reason: "west is down" });
    await world.forward(LAPSE_MS);

    await expect(admits(world, of("east"))).resolves.toBe(true);
  });
});

describe("a transfer to a candidate that does not come", () => {
  const TO_NOBODY = { transferTimeoutMs: 5_000 };

  test("replaces a reservation: after it, any group may acquire", async ({ world }) => {
    await leadInWest(world);
    await world.settled(world.store().transfer(ELECTION, "nobody", TO_NOBODY));

    await expect(admits(world, of("east"))).resolves.toBe(true);
  });
});
