import { describe, expect, test } from "vitest";
import { parseLeaseRecord } from "../src/records/record-store.ts";

const good = {
  schema: 3,
  term: 3,
  termId: "t",
  candidateId: "a",
  nonce: "n",
  leaseDurationMs: 15_000,
  renewIntervalMs: 5_000,
};

describe("parsing of a lease record", () => {
  test.each([
    good,
    { ...good, value: "http://a" },
    { ...good, value: "" },
    { ...good, term: 0, termId: null, candidateId: null },
    { ...good, broken: { reason: "", id: "order" }, bars: [{ untilMs: 1, except: { candidateId: "b" }, id: "order" }] },
    {
      ...good,
      bars: [
        { untilMs: 1, except: null },
        { untilMs: 0.5, except: { group: "west" } },
      ],
      done: true,
    },
    { ...good, bars: [{ untilMs: null, except: null, reason: "", id: "order", sinceMs: 5 }] },
    { ...good, somethingNewer: true },
  ])("%j", (data) => {
    expect(parseLeaseRecord(data)).toBe(data);
  });

  test.each([
    [undefined, "it is not an object"],
    [null, "it is not an object"],
    ["lease", "it is not an object"],
    [{}, "its schema is missing, and this version reads schema 3"],
    [{ ...good, schema: 1 }, "its schema is 1, and this version reads schema 3"],
    [{ ...good, schema: 2, quorum: "{}" }, "its schema is 2, and this version reads schema 3"],
    [{ ...good, schema: 4, quorum: "{}" }, "a quorum of stores keeps it, of which this is one: open it as a QuorumLeaseStore"],
    [{ ...good, quorum: "{}" }, "its quorum is not valid"],
    [{ ...good, term: -1 }, "its term is not valid"],
    [{ ...good, term: 1.5 }, "its term is not valid"],
    [{ ...good, term: "3" }, "its term is not valid"],
    [{ ...good, term: Number.MAX_SAFE_INTEGER + 1 }, "its term is not valid"],
    [{ ...good, termId: "" }, "its termId is not valid"],
    [{ ...good, termId: undefined }, "its termId is not valid"],
    [{ ...good, candidateId: 7 }, "its candidateId is not valid"],
    [{ ...good, value: null }, "its value is not valid"],
    [{ ...good, nonce: "" }, "its nonce is not valid"],
    [{ ...good, leaseDurationMs: 0 }, "its leaseDurationMs is not valid"],
    [{ ...good, leaseDurationMs: null }, "its leaseDurationMs is not valid"],
    [{ ...good, leaseDurationMs: Infinity }, "its leaseDurationMs is not valid"],
    [{ ...good, renewIntervalMs: NaN }, "its renewIntervalMs is not valid"],
    [{ ...good, broken: { reason: "" } }, "its broken is not valid"],
    [{ ...good, broken: {} }, "its broken is not valid"],
    [{ ...good, broken: null }, "its broken is not valid"],
    [{ ...good, done: false }, "its done is not valid"],
  ])("%j is not a lease record", (data, problem) => {
    expect(parseLeaseRecord(data)).toEqual({ problem });
  });

  const bar = { untilMs: 1, except: null };
  test.each<[unknown]>([
    ["none"],
    [null],
    [bar],
    [[]],
    [[bar, bar, bar, bar]],
    [[null]],
    [["hold"]],
    [[{ ...bar, untilMs: 0 }]],
    [[{ ...bar, untilMs: "1" }]],
    [[{ ...bar, untilMs: Infinity }]],
    [[{ untilMs: 1 }]],
    [[{ ...bar, except: {} }]],
    [[{ ...bar, except: "b" }]],
    [[{ ...bar, except: { candidateId: "" } }]],
    [[{ ...bar, except: { group: 7 } }]],
    [[{ untilMs: null, except: { candidateId: "b" } }]],
    [[{ ...bar, reason: null }]],
    [[{ ...bar, id: "" }]],
    [[{ ...bar, sinceMs: "now" }]],
    [[{ ...bar, sinceMs: 8.65e15 }]],
  ])("a record with the bars %j is not a lease record", (bars) => {
    expect(parseLeaseRecord({ ...good, bars })).toEqual({ problem: "its bars is not valid" });
  });
});
