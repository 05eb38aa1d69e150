/** Tests the state in a member's record, and the records that are no quorum's. */
import type { StoredRecord } from "@leasehold/core/provider";
import { describe, expect, test } from "vitest";
import { decodeMember, NOTHING, recordOf as stateRecord, UNACCEPTED, type MemberState, type State } from "../src/member-state.ts";
import { replaced, rosterOf, type Roster } from "../src/roster.ts";
import { recordOf } from "./world.ts";

const PLACE = { name: "b", place: "b (memory)", names: ["a", "b", "c"] };
const ROSTER: Roster = { number: 3, incarnations: { a: "ia", b: "ib", c: "ic" }, later: [], past: [] };
const BALLOT = { round: 4, proposer: "me" };

function read(data: unknown): MemberState {
  return decodeMember("e", PLACE, { data, version: "v" } as StoredRecord);
}

describe("a state", () => {
  test.for<[what: string, state: State]>([
    ["of which nothing was promised", { promised: undefined, accepted: undefined, proposal: undefined, seen: {} }],
    ["that was promised alone", { promised: BALLOT, accepted: undefined, proposal: undefined, seen: { a: BALLOT } }],
    [
      "that was accepted",
      {
        promised: { round: 5, proposer: "me" },
        accepted: BALLOT,
        proposal: { write: "w", base: "before", record: recordOf("n"), wallMs: 7 },
        seen: {},
      },
    ],
    [
      "that replaces nothing, and whose nonce is another's",
      {
        promised: BALLOT,
        accepted: BALLOT,
        proposal: { write: "w", base: null, record: recordOf("n"), wallMs: undefined },
        seen: {},
      },
    ],
  ])("%s is read as it was written", ([, state]) => {
    const record = stateRecord(state, ROSTER);
    expect(record.schema).toBe(4);
    expect(read(record)).toEqual({ ...state, version: "v", roster: 3, incarnation: "ib", ageMs: undefined });
    if (!state.proposal) expect(record).toMatchObject({ term: UNACCEPTED.term, termId: null, nonce: "none" });
  });

  test("of a member without a record is NOTHING", () => {
    expect(decodeMember("e", PLACE, undefined)).toBe(NOTHING);
    expect(NOTHING).toMatchObject({ version: undefined, roster: 0, seen: {} });
  });
});

describe("a record is refused by name", () => {
  const note = JSON.parse(
    stateRecord(
      { promised: BALLOT, accepted: BALLOT, proposal: { write: "w", base: "x", record: recordOf("n") }, seen: {} },
      ROSTER,
    ).quorum ?? "",
  ) as Record<string, unknown>;

  test.for([null, undefined, "a text", 5, {}, { schema: 5 }, { schema: 2, quorum: "{}" }])(
    "that no quorum of this version has written: %j",
    (data) => {
      expect(() => read(data)).toThrow(expect.objectContaining({ code: "FOREIGN_RECORD", election: "e" }));
      expect(() => read(data)).toThrow(/b \(memory\).*no quorum of this version has written it/);
    },
  );

  test("if a store that is used without a quorum wrote it", () => {
    expect(() => read(recordOf("n"))).toThrow(/used without a quorum/);
  });

  test.for([
    undefined,
    5,
    "{",
    "null",
    "5",
    { ...note, roster: "3" },
    { ...note, roster: 1.5 },
    { ...note, members: null },
    { ...note, members: "a" },
    { ...note, promised: undefined },
    { ...note, promised: "4" },
    { ...note, promised: { round: "4", proposer: "me" } },
    { ...note, promised: { round: 4 } },
    { ...note, accepted: { round: 4 } },
    { ...note, accepted: null },
    { ...note, write: null },
    { ...note, write: 5 },
    { ...note, base: 5 },
    { ...note, wallMs: "7" },
    { ...note, seen: null },
    { ...note, seen: "a" },
    { ...note, seen: { a: { round: 4 } } },
  ])("whose note is not sound: %j", (quorum) => {
    const text = typeof quorum === "object" ? JSON.stringify(quorum) : quorum;
    expect(() => read({ ...recordOf("n"), schema: 4, quorum: text })).toThrow(/its quorum is not valid/);
  });

  test("and accepted if its note is valid", () => {
    for (const sound of [note, { ...note, seen: { a: null } }, { ...note, promised: null }]) {
      expect(read({ ...recordOf("n"), schema: 4, quorum: JSON.stringify(sound) })).toMatchObject({ roster: 3 });
    }
  });

  test("if another quorum wrote it", () => {
    const others = JSON.stringify({ ...note, members: { d: "id", b: "ib" } });
    expect(() => read({ ...recordOf("n"), schema: 4, quorum: others })).toThrow(
      expect.objectContaining({
        code: "CONFIGURATION",
        election: "e",
        message: expect.stringMatching(/^b \(memory\) is a member of the quorum of b, d, but this quorum is of a, b, c:/),
      }),
    );
  });
});

describe("a roster", () => {
  const proposed = (value: string | undefined) => ({
    write: "w",
    base: null,
    record: { ...UNACCEPTED, ...(value && { value }) },
  });

  test("with a replaced store has the next number, and remembers the last twenty that were replaced", () => {
    let roster = ROSTER;
    for (let times = 1; times <= 21; times += 1) roster = replaced(roster, "b", `ib${times}`);
    expect(roster.number).toBe(24);
    expect(roster.incarnations).toEqual({ a: "ia", b: "ib21", c: "ic" });
    expect(roster.later).toEqual(["b"]);
    expect(roster.past).toEqual(Array.from({ length: 20 }, (_, at) => `ib${at + 1}`));
  });

  test("is read as it was proposed", () => {
    expect(rosterOf(proposed(JSON.stringify(ROSTER)))).toEqual(ROSTER);
  });

  test.for([
    undefined,
    "{",
    "null",
    "5",
    JSON.stringify({ ...ROSTER, number: "3" }),
    JSON.stringify({ ...ROSTER, incarnations: "a" }),
    JSON.stringify({ ...ROSTER, later: "b" }),
    JSON.stringify({ ...ROSTER, past: {} }),
  ])("that is none is an error: %s", (value) => {
    expect(() => rosterOf(proposed(value))).toThrow(expect.objectContaining({ code: "FOREIGN_RECORD" }));
  });
});
