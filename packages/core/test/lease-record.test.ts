import { describe, expect, test } from "vitest";
import { parseLeaseRecord } from "../src/records/record-store.ts";

const good = {
  schema: 1,
  term: 3,
  termId: "t",
  candidateId: "a",
  nonce: "n",
  leaseDurationMs: 15_000,
  renewIntervalMs: 5_000,
};

describe("what can be read as a lease", () => {
  test.each([
    good,
    { ...good, value: "http://a" },
    { ...good, value: "" },
    { ...good, term: 0, termId: null, candidateId: null },
    { ...good, broken: { reason: "", id: "order" }, transfer: { candidateId: "b", timeoutMs: 1, id: "order" } },
    { ...good, holdMs: 1, reservation: { group: "west", durationMs: 1 }, done: true },
    { ...good, somethingNewer: true },
  ])("%j", (data) => {
    expect(parseLeaseRecord(data)).toBe(data);
  });

  test.each([
    [undefined, "it is not an object"],
    [null, "it is not an object"],
    ["lease", "it is not an object"],
    [{}, "its schema is missing, and this version reads schema 1"],
    [{ ...good, schema: 3 }, "its schema is 3, and this version reads schema 1"],
    [{ ...good, schema: 2, quorum: "{}" }, "a quorum of stores keeps it, of which this is one: open it as a QuorumLeaseStore"],
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
    [{ ...good, transfer: { candidateId: "b", timeoutMs: 1 } }, "its transfer is not valid"],
    [{ ...good, broken: {} }, "its broken is not valid"],
    [{ ...good, broken: null }, "its broken is not valid"],
    [{ ...good, transfer: { candidateId: "", timeoutMs: 1, id: "order" } }, "its transfer is not valid"],
    [{ ...good, transfer: { candidateId: "b", timeoutMs: null, id: "order" } }, "its transfer is not valid"],
    [{ ...good, transfer: "b" }, "its transfer is not valid"],
    [{ ...good, holdMs: 0 }, "its holdMs is not valid"],
    [{ ...good, reservation: { group: "west" } }, "its reservation is not valid"],
    [{ ...good, reservation: { group: "", durationMs: 1 } }, "its reservation is not valid"],
    [{ ...good, done: false }, "its done is not valid"],
  ])("%j is not one", (data, problem) => {
    expect(parseLeaseRecord(data)).toEqual({ problem });
  });
});
