import { ConfigurationError, Elector, UnsupportedError } from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { RecordService } from "./faulty-record-store.ts";

const RESERVED_MS = 150_000;
const WEST = { group: "west", durationMs: RESERVED_MS };
const EAST = { group: "east", durationMs: RESERVED_MS };

let clock: VirtualClock;
let records: MemoryRecordStore;

beforeEach(() => {
  clock = new VirtualClock();
  records = new MemoryRecordStore(clock);
});

/** Returns a store as a process that has just started has it, without any memory. */
function coldStore(): RecordLeaseStore {
  return new RecordLeaseStore(records, { clock });
}

function elector(store: RecordLeaseStore, reservation?: typeof WEST): Elector {
  return new Elector({ store, election: ELECTION, reservation, clock });
}

/** Makes a holder of group west work for a second and release. */
async function leadInWest(): Promise<Lease> {
  const store = coldStore();
  const lease = await win(store, { candidateId: "w", reservation: WEST });
  await clock.advance(1_000);
  await store.release(lease, LIMITS);
  return lease;
}

describe("a reservation", () => {
  test("keeps a free election to its group for its duration after the release, also against cold processes", async () => {
    await leadInWest();
    await clock.advance(RESERVED_MS - 1);

    await expect(elector(coldStore(), EAST).tryRun(() => "east")).resolves.toEqual({ elected: false, reason: "held-back" });
    await expect(elector(coldStore()).tryRun(() => "nobody's")).resolves.toEqual({ elected: false, reason: "held-back" });
    await expect(elector(coldStore(), WEST).tryRun(() => "west")).resolves.toMatchObject({ elected: true, result: "west" });
  });

  test("counts from the last sign of life of a holder that crashed", async () => {
    const store = coldStore();
    const lease = await win(store, { candidateId: "w", reservation: WEST });
    await clock.advance(5_000);
    await store.renew(lease, LIMITS);
    await clock.advance(RESERVED_MS - 1);
    await expect(elector(coldStore(), EAST).tryRun(() => "east")).resolves.toEqual({ elected: false, reason: "held-back" });
    await clock.advance(1);

    await expect(elector(coldStore(), EAST).tryRun(() => "east")).resolves.toMatchObject({ elected: true, term: 2 });
  });

  test("does not come back with the release of a term that was broken", async () => {
    const store = coldStore();
    const lease = await win(store, { candidateId: "w", reservation: WEST });
    await coldStore().break(ELECTION, { reason: "west is down" });
    await expect(store.release(lease, LIMITS)).resolves.toBe("released");

    await expect(elector(coldStore(), EAST).tryRun(() => "east")).resolves.toMatchObject({ elected: true, term: 2 });
  });

  test("gives way to an administrator's transfer", async () => {
    const lease = await leadInWest();
    const transferred = coldStore().transfer(ELECTION, "e", { ifTerm: lease.term });
    await clock.settle();

    await expect(coldStore().acquire(acquiring({ candidateId: "e", reservation: EAST }))).resolves.toMatchObject({
      acquired: true,
    });
    await clock.advance(1_000);
    await expect(transferred).resolves.toBe("accepted");
  });

  test("ends with a transfer to a candidate that does not come: then any group may acquire", async () => {
    await leadInWest();
    await expect(clock.runUntil(coldStore().transfer(ELECTION, "e", { transferTimeoutMs: 5_000 }))).resolves.toBe("expired");

    await expect(elector(coldStore(), EAST).tryRun(() => "east")).resolves.toMatchObject({ elected: true, result: "east" });
  });

  test("is refused before any request if no clock can judge it, or if it is invalid", async () => {
    const timeless = new RecordService(clock).connect("a");
    const blind = new RecordLeaseStore(timeless, { clock });
    const makeBlind = (): Elector => new Elector({ store: blind, election: ELECTION, reservation: WEST, clock });
    expect(makeBlind).toThrow(UnsupportedError);
    for (const reservation of [
      { group: "", durationMs: 1 },
      { group: "west", durationMs: 0 },
      { group: "west", durationMs: Number.NaN },
    ]) {
      expect(() => elector(coldStore(), reservation)).toThrow(ConfigurationError);
      await expect(coldStore().acquire(acquiring({ reservation }))).rejects.toThrow(ConfigurationError);
    }
    expect(elector(coldStore(), { group: "west", durationMs: 1 })).toBeInstanceOf(Elector);
  });
});
