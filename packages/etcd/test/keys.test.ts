import { describe, expect, it } from "vitest";
import { ElectionKeys, leaseNumber, OccurrenceKeys, randomLease } from "../src/keys.ts";
import { decodeInfo, decodeNote, durationsOf } from "../src/schema.ts";
import { namesOf, sightingOf, snapshotOf, type ElectionData } from "../src/observed-election.ts";
import { headerOf, keyValue, rangesOf, type KeyValue } from "../src/wire.ts";

const KEYS = new ElectionKeys("p/", "e");
const INFO = { schema: 1, candidateId: "a", leaseDurationMs: 5_000, published: false } as const;

function candidate(hex: string, createRevision: number, value = hex): KeyValue {
  return { key: `p/e/${hex}`, rawKey: "", value, createRevision, modRevision: 99, lease: "31" };
}

function beside(part: string, hex: string, value: object): KeyValue {
  return { ...candidate(hex, 99, JSON.stringify(value)), key: `.leasehold/p%2Fe/${part}/${hex}` };
}

describe("a lease of our own", () => {
  it("is a positive number of 63 bits, from the random bits of a UUID, and never 0", () => {
    expect(randomLease("01234567-89ab-4000-8000-0000000fedcb")).toBe("123456789abedcb");
    expect(randomLease("ffffffff-ffff-4000-8000-00000000ffff")).toBe("7fffffffffffffff");
    expect(randomLease("00000000-0000-4fff-bfff-ffffffff0000")).toBe("1");
    expect(leaseNumber("7fffffffffffffff")).toBe("9223372036854775807");
  });
});

describe("a key of an election", () => {
  it("is a candidate's if it ends with the hex of a lease", () => {
    expect(
      ["p/e/1f", "p/e/7fffffffffffffff", "p/e/17fffffffffffffff", "p/e/", "p/e/1F", "p/e/x/1f"].map((key) => KEYS.hexOf(key)),
    ).toEqual(["1f", "7fffffffffffffff", undefined, undefined, undefined, undefined]);
  });

  it("of occurrences lies below the election's own, with slashes encoded", () => {
    const keys = new OccurrenceKeys("own/");
    expect(keys.record("a/b%")).toBe("own/records/a%2Fb%25");
    expect(keys.mark("a/b", "n/1", 5)).toBe("own/marks/a%2Fb/n%2F1/5");
  });
});

describe("an election's data", () => {
  it.each<readonly [string | undefined, boolean]>([
    [JSON.stringify(INFO), true],
    [JSON.stringify({ ...INFO, schema: 2 }), false],
    [JSON.stringify({ ...INFO, candidateId: 1 }), false],
    [JSON.stringify({ ...INFO, leaseDurationMs: "1" }), false],
    ["null", false],
    ["1", false],
    ["{", false],
    [undefined, false],
  ])("is ours, or none: %s", (text, isOurs) => {
    expect(decodeInfo(text)).toEqual(isOurs ? INFO : undefined);
  });

  it("may have a note, which ends the term whatever its content", () => {
    const unreadable = { schema: 1, kind: "break", id: "", reason: "the note cannot be read" };
    const order = { schema: 1, kind: "break", id: "7", reason: "over" };
    const hold = { schema: 1, kind: "hold", holdMs: 5_000 };
    for (const note of [order, hold]) expect(decodeNote(JSON.stringify(note))).toEqual(note);
    for (const text of ["", "null", "7", '{"kind":"hold","holdMs":"5"}', '{"kind":"other","id":"8","reason":"x"}'])
      expect(decodeNote(text), text).toEqual(unreadable);
  });

  it("shows the oldest candidate as the leader, in any order", () => {
    const candidates = [candidate("3", 9), candidate("1", 7, "name"), candidate("2", 8)];
    const data: ElectionData = { candidates, infos: [beside("candidates", "1", INFO), beside("candidates", "2", {})], notes: [] };
    const { head } = sightingOf("e", KEYS, 20, data);
    expect(head).toEqual({ hex: "1", term: 7, leaseNumber: "31", value: "name", info: INFO, note: undefined });
    for (const order of [candidates.toReversed(), candidates.slice(1)])
      expect(sightingOf("e", KEYS, 20, { ...data, candidates: order }).head?.hex).toBe("1");
  });

  it("names the leader by its candidateId, and a program in Go by its value or its lease", () => {
    const head = { hex: "1f", term: 7, leaseNumber: "31", note: undefined };
    expect(namesOf({ ...head, value: "a", info: INFO })).toEqual({ holder: "a" });
    expect(namesOf({ ...head, value: "b", info: { ...INFO, published: true } })).toEqual({ holder: "a", value: "b" });
    expect(namesOf({ ...head, value: "go", info: undefined })).toEqual({ holder: "go", value: "go" });
    expect(namesOf({ ...head, value: "", info: undefined })).toEqual({ holder: "lease 1f", value: "" });
  });

  it("shows a hold with the length in its note, if nothing else is known", () => {
    const note = beside("notes", "1", { kind: "hold", holdMs: 5_000 });
    const observed = sightingOf("e", KEYS, 20, { candidates: [candidate("1", 7)], infos: [], notes: [note] });
    expect(snapshotOf(observed, 0)).toEqual({ election: "e", state: "vacant", term: 7, bar: { kind: "hold", leftMs: 5_000 } });
    expect(snapshotOf(observed, 0, 3_000)?.bar).toEqual({ kind: "hold", leftMs: 3_000 });
  });
});

describe("the durations that a process may wait after a record", () => {
  it("are each listed once, and the lease's only while the lease is held", () => {
    const record = {
      termId: "t",
      leaseDurationMs: 5,
      bars: [
        { untilMs: 7, except: null },
        { untilMs: 5, except: { group: "g" } },
        { untilMs: null, except: null },
      ],
    };
    expect(durationsOf(record)).toEqual([5, 7]);
    expect(durationsOf({ ...record, termId: null, bars: [null, { untilMs: "7" }, { untilMs: 9 }] } as never)).toEqual([9]);
    expect(durationsOf()).toEqual([]);
  });
});

describe("a reply of etcd's gateway", () => {
  it("omits empty and zero values", () => {
    const nothing = { key: "", rawKey: "", value: "", createRevision: 0, modRevision: 0, lease: "0" };
    expect(keyValue({})).toEqual(nothing);
    expect(keyValue({ key: 5, value: null, lease: 31, create_revision: "0" })).toEqual(nothing);
    expect(rangesOf({})).toEqual([]);
    expect(rangesOf({ responses: [{}, { response_range: {} }, { response_put: {} }] })).toEqual([[], [], []]);
    expect(headerOf({})).toBeUndefined();
    expect(headerOf({ header: { cluster_id: 5 } })).toBeUndefined();
    expect(headerOf({ header: { cluster_id: "5", raft_term: "2" } })).toEqual({ clusterId: "5", revision: 0, raftTerm: "2" });
  });
});
