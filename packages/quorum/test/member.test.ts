/** Tests one store of a quorum: the requests that it gets, and the warnings of its failures. */
import type { Logger } from "@leasehold/core";
import { IMPOSSIBLE_VERSION, Journal, MemoryRecordStore, type RecordStore, type StoredRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { NOTHING, recordOf as recordOfState, type State } from "../src/member-state.ts";
import { Member } from "../src/member.ts";
import type { Roster } from "../src/roster.ts";
import { recordOf } from "./world.ts";

const ROSTER: Roster = { number: 2, incarnations: { a: "ia", b: "ib", c: "ic" }, later: [], past: [] };
const BALLOT = { round: 1, proposer: "me" };
const LIMITS = { timeoutMs: 1_000 };

function stateOf(nonce: string, term = 1): State {
  return {
    promised: BALLOT,
    accepted: BALLOT,
    proposal: { write: `write of ${nonce}`, base: null, record: recordOf(nonce, term) },
    seen: {},
  };
}

function world(records?: (clock: VirtualClock) => Partial<RecordStore>) {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const line = (message: string): void => void lines.push(message);
  const logger: Logger = { debug: line, info: line, warn: line, error: line };
  const memory = new MemoryRecordStore(clock);
  const sent: unknown[] = [];
  const noted: RecordStore = {
    name: "memory",
    capabilities: memory.capabilities,
    get: async (election, options) => {
      sent.push({ consistent: options.consistent });
      return await memory.get(election);
    },
    put: async (election, record, { ifVersion, keepsNonce, fence }) => {
      sent.push({ ifVersion, keepsNonce, fence });
      return await memory.put(election, record, { ifVersion, keepsNonce, fence, signal: new AbortController().signal });
    },
    ...records?.(clock),
  };
  const member = new Member("a", noted, ["a", "b", "c"], clock, Journal.to(logger));
  return { clock, lines, sent, member };
}

describe("a state", () => {
  test("replaces the member's state, with its fence and nonce if these differ", async () => {
    const { sent, member } = world();
    const first = await member.put("e", { state: stateOf("one"), present: NOTHING, roster: ROSTER }, LIMITS);
    expect(first).toMatchObject({ ...stateOf("one"), roster: 2, incarnation: "ia", version: expect.any(String) });
    const again = await member.put("e", { state: stateOf("one"), present: first!, roster: ROSTER }, LIMITS);
    const redated = await member.put("e", { state: stateOf("one"), present: again!, roster: ROSTER, redates: true }, LIMITS);
    const next = await member.put("e", { state: stateOf("two", 2), present: redated!, roster: ROSTER }, LIMITS);
    await member.put("e", { state: { ...stateOf("two", 2), proposal: undefined }, present: next!, roster: ROSTER }, LIMITS);
    expect(sent).toEqual([
      { ifVersion: undefined, keepsNonce: false, fence: { term: 1, termId: "t" } },
      { ifVersion: first!.version, keepsNonce: true, fence: undefined },
      { ifVersion: again!.version, keepsNonce: false, fence: undefined },
      { ifVersion: redated!.version, keepsNonce: false, fence: { term: 2, termId: "t" } },
      { ifVersion: next!.version, keepsNonce: false, fence: undefined },
    ]);
  });

  test("is read with the consistency that the caller asks for", async () => {
    const { sent, member } = world();
    await member.put("e", { state: stateOf("one"), present: NOTHING, roster: ROSTER }, LIMITS);
    sent.length = 0;
    for (const consistent of [true, false]) {
      await expect(member.get("e", consistent, LIMITS)).resolves.toMatchObject({ proposal: stateOf("one").proposal });
    }
    expect(sent).toEqual([{ consistent: true }, { consistent: false }]);
  });

  test("does not replace a state other than the one that was read; and a probe changes nothing", async () => {
    const { member } = world();
    const first = await member.put("e", { state: stateOf("one"), present: NOTHING, roster: ROSTER }, LIMITS);
    await expect(member.put("e", { state: stateOf("two"), present: NOTHING, roster: ROSTER }, LIMITS)).resolves.toBeUndefined();
    await expect(member.refuses("e", IMPOSSIBLE_VERSION, ROSTER, LIMITS)).resolves.toBe(true);
    await expect(member.get("e", true, LIMITS)).resolves.toMatchObject({ proposal: stateOf("one").proposal });
    await expect(member.refuses("e", first!.version!, ROSTER, LIMITS)).resolves.toBe(false);
  });
});

describe("a member that does not answer", () => {
  const silent = () => ({ get: () => new Promise<never>(() => undefined), put: () => new Promise<never>(() => undefined) });

  test("fails after its time, and may have carried out a write", async () => {
    const { clock, lines, member } = world(silent);
    const reading = member.get("e", true, LIMITS);
    await expect(clock.runUntil(reading)).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: false });
    const writing = member.put("e", { state: stateOf("one"), present: NOTHING, roster: ROSTER }, LIMITS);
    await expect(clock.runUntil(writing)).rejects.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: true });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("a (memory) fails: a (memory) did not answer 'put' of 'e' within 1000 ms");
  });

  test("does not fail if its caller has aborted the request", async () => {
    const { clock, lines, member } = world(silent);
    for (let times = 0; times < 3; times += 1) {
      const abort = new AbortController();
      const reading = member.get("e", true, { ...LIMITS, signal: abort.signal });
      abort.abort(new Error("enough"));
      await expect(clock.runUntil(reading)).rejects.toThrow("enough");
    }
    expect(lines).toEqual([]);
  });
});

test("a member with a record of another kind fails; a member with another quorum's record does not", async () => {
  const other = recordOfState(stateOf("one"), { ...ROSTER, incarnations: { a: "ia", d: "id", e: "ie" } });
  for (const [data, code, told] of [
    [{ schema: 99 }, "FOREIGN_RECORD", [expect.stringContaining("a (memory) fails: ")]],
    [other, "CONFIGURATION", []],
  ] as const) {
    const { lines, member } = world(() => ({ get: () => Promise.resolve({ data, version: "v" } as StoredRecord) }));
    for (let times = 0; times < 2; times += 1) {
      await expect(member.get("e", true, LIMITS)).rejects.toMatchObject({ code });
    }
    expect(lines).toEqual(told);
  }
});
