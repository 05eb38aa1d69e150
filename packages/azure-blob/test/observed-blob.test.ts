import { describe, expect, it } from "vitest";
import { ageBoundsMs, ageMs, leastAgeMs } from "../src/clock.ts";
import { decodeNote, decodeTerm, encodeNote, encodeTerm, foreignKeys, wholeNumber, type TermMetadata } from "../src/schema.ts";
import {
  barOfFree,
  isFree,
  orderOf,
  reservationLeft,
  sighted,
  snapshotOf,
  type BlobReading,
  type ObservedBlob,
} from "../src/observed-blob.ts";

const SEEN_MS = 1_000_000;
const LEASE_MS = 15_000;
const TERM: TermMetadata = { term: 7, termId: "t", candidateId: "a", value: "v", leaseDurationMs: LEASE_MS };

/** Returns the observation of a blob that is free and was just written, with changes. */
function seen({ term, ...different }: Partial<Omit<ObservedBlob, "term">> & { term?: Partial<TermMetadata> } = {}): ObservedBlob {
  return {
    leaseState: "available",
    infinite: false,
    metadata: {},
    etag: "1",
    unchangedMs: 0,
    seenMs: SEEN_MS,
    leasedSinceMs: undefined,
    brokenSinceMs: undefined,
    ...different,
    term: { ...TERM, ...term },
  };
}

describe("after one more read, an observation", () => {
  const at = (leaseState: BlobReading["leaseState"], seenMs: number, term = 7): BlobReading => ({
    ...seen({ leaseState, seenMs, term: { term } }),
  });

  it("has the time since which the term is under a lease, and never again after a read without one", () => {
    const first = sighted(undefined, at("leased", 10));
    expect(first).toMatchObject({ leasedSinceMs: 10, brokenSinceMs: undefined });
    const second = sighted(first, at("leased", 20));
    expect(second.leasedSinceMs).toBe(10);
    const free = sighted(second, at("expired", 30));
    expect(free.leasedSinceMs).toBeUndefined();
    expect(sighted(free, at("leased", 40)).leasedSinceMs).toBeUndefined();
    expect(sighted(second, at("leased", 40, 8)).leasedSinceMs).toBe(40);
  });

  it("has the time since which its lease is broken", () => {
    const broken = sighted(undefined, at("broken", 10));
    expect(broken).toMatchObject({ leasedSinceMs: undefined, brokenSinceMs: 10 });
    expect(sighted(broken, at("broken", 20)).brokenSinceMs).toBe(10);
    expect(sighted(broken, at("broken", 20, 8)).brokenSinceMs).toBe(20);
    expect(sighted(broken, at("leased", 20)).brokenSinceMs).toBeUndefined();
  });
});

describe("the snapshot of a blob", () => {
  const shown = (observed: ObservedBlob, { isOurs = false, afterMs = 0 } = {}): object =>
    snapshotOf("e", observed, isOurs, SEEN_MS + afterMs);
  const plain = { election: "e", term: 7, leaseDurationMs: LEASE_MS };
  const named = { ...plain, holder: "a", value: "v" };

  it("names no holder if there is no leader", () => {
    expect(shown(seen())).toEqual({ ...plain, state: "vacant" });
    expect(shown(seen(), { isOurs: true })).toEqual({ ...plain, state: "vacant" });
    expect(shown(seen({ term: { leaseDurationMs: undefined } }))).toEqual({ election: "e", term: 7, state: "vacant" });
  });

  it.each([
    ["expired", "expired"],
    ["broken", "expired"],
    ["breaking", "ending"],
  ] as const)("whose lease is %s is %s, and names who led", (leaseState, state) => {
    const snapshot = shown(seen({ leaseState }));
    expect(snapshot).toMatchObject({ ...named, state });
    expect("bar" in snapshot).toBe(state === "ending");
    expect(shown(seen({ leaseState, term: { candidateId: undefined, value: undefined } }))).not.toHaveProperty("holder");
    expect(shown(seen({ leaseState, term: { candidateId: undefined, value: undefined } }))).not.toHaveProperty("value");
  });

  it("with a lease is held in the process that holds it, and unknown for a minute to others", () => {
    const leased = seen({ leaseState: "leased", leasedSinceMs: SEEN_MS });
    const bar = { kind: "lease" };
    expect(shown(leased, { isOurs: true })).toEqual({ ...named, state: "held", bar });
    expect(shown(leased, { afterMs: 60_000 })).toEqual({ ...named, state: "unknown", bar });
    expect(shown(leased, { afterMs: 60_001 })).toEqual({ ...named, state: "held", bar });
  });

  it.each([
    ["of a lease without an end", { infinite: true, leasedSinceMs: SEEN_MS }],
    ["of a term that was seen without its lease", { leasedSinceMs: undefined }],
    ["of a term that has left", { leasedSinceMs: SEEN_MS, term: { holdMs: 5_000 } }],
  ])("%s, which may be any candidate's, names no holder, even after a long time", (_, different) => {
    const leased = seen({ leaseState: "leased", ...different });
    for (const afterMs of [0, 90_000])
      expect(shown(leased, { afterMs })).toEqual({ ...plain, state: "unknown", bar: { kind: "lease" } });
  });

  it("with a hold is vacant, and has the rest of the hold, at least a millisecond, while the lease is breaking", () => {
    const breaking = seen({ leaseState: "breaking", unchangedMs: 1_000, term: { holdMs: 5_000 } });
    expect(shown(breaking, { afterMs: 500 })).toEqual({ ...plain, state: "vacant", bar: { kind: "hold", leftMs: 3_500 } });
    expect(shown(breaking, { afterMs: 9_000 })).toEqual({ ...plain, state: "vacant", bar: { kind: "hold", leftMs: 1 } });
    for (const leaseState of ["broken", "expired", "available"] as const)
      expect(shown(seen({ leaseState, term: { holdMs: 5_000 } }))).toEqual({ ...plain, state: "vacant" });
  });

  it("has the reason of a break, from the metadata or from a note", () => {
    expect(shown(seen({ leaseState: "breaking", note: { id: "1", term: 7, reason: "over" } }))).toMatchObject({
      endingReason: "over",
    });
    expect(shown(seen({ term: { order: { id: "1", reason: "order" } } }))).toMatchObject({ endingReason: "order" });
  });
});

describe("the last order for a term", () => {
  it("is the one in the metadata, unless the note was written after that", () => {
    const order = { id: "1", reason: "order" };
    const note = { id: "2", reason: "note", term: 7 };
    expect(orderOf(seen())).toBeUndefined();
    expect(orderOf(seen({ note }))).toBe(note);
    expect(orderOf(seen({ term: { order } }))).toBe(order);
    expect(orderOf(seen({ note, term: { order } }))).toBe(order);
    const later = { ...note, after: "1" };
    expect(orderOf(seen({ note: later, term: { order } }))).toBe(later);
  });
});

describe("the rest of a reservation", () => {
  const reservation = { group: "west", durationMs: 10_000.5 };

  it("counts from the last write, in whole milliseconds, rounded up, and is undefined in the end", () => {
    const observed = seen({ unchangedMs: 4_000, term: { reservation } });
    expect(reservationLeft(observed, SEEN_MS + 1_000)).toEqual({ group: "west", durationMs: 5_001 });
    expect(reservationLeft(observed, SEEN_MS + 6_000)).toEqual({ group: "west", durationMs: 1 });
    expect(reservationLeft(observed, SEEN_MS + 6_001)).toBeUndefined();
    expect(barOfFree(observed, SEEN_MS)).toEqual({ kind: "reservation", group: "west" });
    expect(barOfFree(observed, SEEN_MS + 6_001)).toBeUndefined();
  });

  it("is undefined without a reservation, and after an administrator's break or transfer", () => {
    expect(reservationLeft(seen(), SEEN_MS)).toBeUndefined();
    expect(reservationLeft(seen({ term: { reservation, order: { id: "1", reason: "over" } } }), SEEN_MS)).toBeUndefined();
    const transfer = { candidateId: "b", timeoutMs: 1_000 };
    expect(reservationLeft(seen({ term: { reservation, order: { id: "1", transfer } } }), SEEN_MS)).toBeUndefined();
  });
});

describe("the target of a transfer", () => {
  const transfer = { candidateId: "b", timeoutMs: 10_000 };
  const to = { kind: "transfer", candidateId: "b" };

  it("has its time from the order on, if the order is in the metadata", () => {
    const observed = seen({ unchangedMs: 4_000, term: { order: { id: "1", transfer } } });
    expect(barOfFree(observed, SEEN_MS + 5_999)).toEqual(to);
    expect(barOfFree(observed, SEEN_MS + 6_000)).toBeUndefined();
  });

  it("has its time from the read of the broken lease on, if the order is in a note", () => {
    const observed = seen({ leaseState: "broken", brokenSinceMs: SEEN_MS, note: { id: "1", term: 7, transfer } });
    expect(barOfFree(observed, SEEN_MS + 9_999)).toEqual(to);
    expect(barOfFree(observed, SEEN_MS + 10_000)).toBeUndefined();
    expect(barOfFree({ ...observed, brokenSinceMs: undefined }, SEEN_MS + 60_000)).toEqual(to);
  });

  it.each([
    [{}, 10_000 + LEASE_MS],
    [{ holdMs: 3_000 }, 70_000],
    [{ leaseDurationMs: undefined }, 70_000],
  ])("has no time left, for a new process, once a term with %j must have been over for that long", (term, mostMs) => {
    const observed = seen({ leaseState: "broken", note: { id: "1", term: 7, transfer }, term });
    expect(barOfFree({ ...observed, noteAgeMs: mostMs }, SEEN_MS)).toEqual(to);
    expect(barOfFree({ ...observed, noteAgeMs: mostMs + 1 }, SEEN_MS)).toBeUndefined();
    expect(barOfFree({ ...observed, noteAgeMs: undefined }, SEEN_MS)).toEqual(to);
  });
});

describe("a blob that can be written without a lease", () => {
  it("is one whose lease is neither held nor breaking", () => {
    const states = ["available", "leased", "expired", "breaking", "broken"] as const;
    expect(states.filter((leaseState) => isFree(seen({ leaseState })))).toEqual(["available", "expired", "broken"]);
  });
});

describe("the metadata of a term", () => {
  const full: TermMetadata = {
    ...TERM,
    grid: { tick: { lo: 10.6, hi: 12.2 }, intervalMs: 5_000.4 },
    reservation: { group: "west/1", durationMs: 60_000 },
    holdMs: 3_000,
    order: { id: "1", reason: undefined, transfer: { candidateId: "b", timeoutMs: 9_000 } },
    history: '[[7,"a",1]]',
  };
  const encoded = {
    theirs: "kept",
    leasehold_schema: "1",
    leasehold_term: "7",
    leasehold_termid: "t",
    leasehold_candidate: "a",
    leasehold_value: "v",
    leasehold_lease: "15000",
    leasehold_grid: "10_13_5000",
    leasehold_group: "west%2F1",
    leasehold_reserved: "60000",
    leasehold_hold: "3000",
    leasehold_order_id: "1",
    leasehold_order_to: "b",
    leasehold_order_timeout: "9000",
    leasehold_history: "%5B%5B7%2C%22a%22%2C1%5D%5D",
  };

  it("is written beside the other metadata, and read again", () => {
    expect(encodeTerm(full, { theirs: "kept", LeaseHold_Old: "dropped" })).toEqual(encoded);
    expect(decodeTerm(encoded, 5)).toEqual({ ...full, grid: { tick: { lo: 10, hi: 13 }, intervalMs: 5_000 } });
    expect(decodeTerm({ LEASEHOLD_SCHEMA: "1", Leasehold_Term: "3" }, 0)).toMatchObject({ term: 3 });
    expect(foreignKeys(encoded)).toEqual({ theirs: "kept" });
  });

  it("has no history if it would exceed the service's limit", () => {
    const ofBytes = (length: number): Record<string, string> => encodeTerm(full, { theirs: "x".repeat(length) });
    const ownLength = Object.entries(encodeTerm(full, {})).flat().join("").length + "theirs".length;
    expect(ofBytes(8_192 - ownLength)).toHaveProperty("leasehold_history");
    expect(ofBytes(8_193 - ownLength)).not.toHaveProperty("leasehold_history");
  });

  it("has a mark for an empty text, and nothing for a missing one", () => {
    expect(encodeTerm({ term: 1, value: "" }, {})).toEqual({
      leasehold_schema: "1",
      leasehold_term: "1",
      leasehold_value: "%",
    });
    expect(decodeTerm({ leasehold_schema: "1", leasehold_term: "1", leasehold_value: "%" }, 0)).toMatchObject({ value: "" });
  });

  it.each<readonly [object, number, object]>([
    [{}, 0, { term: 0 }],
    [{}, 1, { problem: "it has content, and no metadata of a lease" }],
    [{ leasehold_schema: "2" }, 0, { problem: "its schema is '2', and this version reads schema 1" }],
    [{ leasehold_schema: "1", leasehold_term: "-1" }, 0, { problem: "its term is not a whole number" }],
    [{ leasehold_schema: "1" }, 0, { problem: "its term is not a whole number" }],
  ])("that is %j, of a blob of %d bytes, is %j", (metadata, length, wanted) => {
    expect(decodeTerm(metadata as Record<string, string>, length)).toEqual(wanted);
  });

  it.each<readonly [string, object]>([
    ["grid", { leasehold_grid: "10_13" }],
    ["grid", { leasehold_grid: "10_13_5_7" }],
    ["grid", { leasehold_grid: "14_13_5000" }],
    ["grid", { leasehold_grid: "10_13_0" }],
    ["grid", { leasehold_grid: "x_13_5000" }],
    ["grid", { leasehold_grid: "10_x_5000" }],
    ["grid", { leasehold_grid: "%zz" }],
    ["reservation", { leasehold_group: "west" }],
    ["reservation", { leasehold_reserved: "5" }],
    ["reservation", { leasehold_group: "west", leasehold_reserved: "Infinity" }],
    ["holdMs", { leasehold_hold: "long" }],
    ["order", { leasehold_order_reason: "over" }],
  ])("has no %s with %j", (field, metadata) => {
    const term = decodeTerm({ leasehold_schema: "1", leasehold_term: "1", ...metadata }, 0) as unknown as Record<string, unknown>;
    expect(term[field]).toBeUndefined();
  });

  it.each([
    { leasehold_order_to: "b" },
    { leasehold_order_timeout: "5" },
    { leasehold_order_to: "b", leasehold_order_timeout: "x" },
  ])("has an order without a transfer with only %j", (metadata) => {
    const term = decodeTerm({ leasehold_schema: "1", leasehold_term: "1", leasehold_order_id: "1", ...metadata }, 0);
    expect(term).toMatchObject({ order: { id: "1", transfer: undefined } });
  });

  it("may have a grid whose tick is known exactly", () => {
    const metadata = { leasehold_schema: "1", leasehold_term: "1", leasehold_grid: "0_0_5000" };
    expect(decodeTerm(metadata, 0)).toMatchObject({ grid: { tick: { lo: 0, hi: 0 }, intervalMs: 5_000 } });
  });
});

describe("the note beside a lease", () => {
  const note = { term: 7, after: "0", id: "1", reason: "over", transfer: { candidateId: "b", timeoutMs: 9_000 } };
  const encoded = {
    leasehold_note_schema: "1",
    leasehold_note_term: "7",
    leasehold_note_after: "0",
    leasehold_note_id: "1",
    leasehold_note_reason: "over",
    leasehold_note_to: "b",
    leasehold_note_timeout: "9000",
  };

  it("is written, and read again", () => {
    expect(encodeNote(note)).toEqual(encoded);
    expect(decodeNote(encoded)).toEqual(note);
  });

  it.each([{ leasehold_note_schema: "2" }, { leasehold_note_term: "x" }, { leasehold_note_id: "%zz" }])(
    "is undefined with %j",
    (other) => {
      expect(decodeNote({ ...encoded, ...other })).toBeUndefined();
    },
  );
});

describe("a whole number", () => {
  it("has decimal digits, and is in a number's range", () => {
    expect(["0", "7", "9007199254740991"].map(wholeNumber)).toEqual([0, 7, 9_007_199_254_740_991]);
    for (const text of [undefined, "", "-1", "1.5", "0x1", " 1", "9007199254740992"]) expect(wholeNumber(text)).toBeUndefined();
  });
});

describe("the age of a blob, by the dates of a reply", () => {
  const at = (seconds: number): Date => new Date(1_750_000_000_000 + seconds * 1_000);

  it("may be wrong by two seconds in either direction, and is never negative", () => {
    const dated = { date: at(10), lastModified: at(0) };
    expect(ageMs(dated)).toBe(10_000);
    expect(leastAgeMs(dated)).toBe(9_000);
    expect(ageBoundsMs(dated)).toEqual([8_000, 12_000]);
    expect(leastAgeMs({ date: at(0), lastModified: at(0) })).toBe(0);
    expect(ageBoundsMs({ date: at(1), lastModified: at(0) })).toEqual([0, 3_000]);
  });

  it("is unknown if the dates contradict each other, or one of them is missing", () => {
    expect(ageBoundsMs({ date: at(0), lastModified: at(2) })).toEqual([0, 0]);
    expect(ageBoundsMs({ date: at(0), lastModified: at(3) })).toBeUndefined();
    expect(ageBoundsMs({ date: at(0) })).toBeUndefined();
    expect(ageBoundsMs({ lastModified: at(0) })).toBeUndefined();
    expect(ageMs({})).toBe(0);
    expect(ageMs({ date: new Date(5_000) })).toBe(5_000);
    expect(ageMs({ lastModified: new Date(5_000) })).toBe(-5_000);
  });
});
