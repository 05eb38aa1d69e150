/** The state that a server has written, and texts that count as lost. */
import { expect, test } from "vitest";
import { decodeStoredState, textOf, type StoredState } from "../src/voter-state-codec.ts";

const BALLOT = { term: 3, votedFor: "a", leaseDurationMs: 15_000 };
const KEPT: StoredState = { writes: 2, floor: 1, clockFloor: 0, isFresh: false, elections: { e: BALLOT }, seen: { b: 7 } };

test("a written state is read unchanged", () => {
  expect(decodeStoredState(textOf(KEPT))).toEqual(KEPT);
  const broken = { id: "one", reason: "why not", immediate: false };
  const transfer = { id: "another", candidateId: "c", timeoutMs: 30_000 };
  const ordered = { ...KEPT, elections: { e: { ...BALLOT, broken, transfer } } };
  expect(decodeStoredState(textOf(ordered))).toEqual(ordered);
  const unvoted = { ...KEPT, elections: { e: { ...BALLOT, votedFor: null } } };
  expect(decodeStoredState(textOf(unvoted))).toEqual(unvoted);
});

test.for<readonly [string, object]>([
  ["no term", { term: undefined }],
  ["a term below 0", { term: -1 }],
  ["a vote that is not a text", { votedFor: 1 }],
  ["no vote", { votedFor: undefined }],
  ["no lease", { leaseDurationMs: undefined }],
  ["an order to break that cannot be read", { broken: "it hangs" }],
  ["a transfer order without a candidate", { transfer: { id: "i", timeoutMs: 30_000 } }],
])("a file that has an election with %s counts as lost", ([, wrong]) => {
  const text = JSON.stringify({ schema: 1, ...KEPT, elections: { e: { ...BALLOT, ...wrong } } });
  expect(decodeStoredState(text)).toBeUndefined();
});
