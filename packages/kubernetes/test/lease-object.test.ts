import { isLeaseholdError } from "@leasehold/core";
import { parseLeaseRecord, vacantRecord, type LeaseRecord } from "@leasehold/core/provider";
import { withBars } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { ANNOTATION, checkElection, leasePatch, newLease, storedOf, type LeaseObject } from "../src/lease-object.ts";

const NOW = Date.UTC(2026, 10, 27, 12, 0, 0, 250);
const HELD: LeaseRecord = {
  ...vacantRecord({ term: 4, nonce: "nonce-1", leaseDurationMs: 1_500, candidateId: "pod-7" }),
  termId: "term-id-1",
};

/** Returns the Lease after a write, as the server keeps it. */
function written(record: LeaseRecord, before?: LeaseObject, nowMs = NOW): LeaseObject {
  if (!before)
    return { ...newLease("e", record, nowMs), metadata: { ...newLease("e", record, nowMs).metadata, resourceVersion: "5" } };
  const { data, version } = storedOf(before);
  const keepsNonce = (data as LeaseRecord).nonce === record.nonce;
  const { metadata, spec } = leasePatch("e", record, version, keepsNonce, nowMs);
  return {
    metadata: { ...before.metadata, ...metadata, resourceVersion: `${Number(before.metadata?.resourceVersion) + 1}` },
    spec: { ...before.spec, ...spec },
  };
}

/** A Lease as client-go leaves it that has taken it over from `before`. */
function takenByGo(before: LeaseObject): LeaseObject {
  const time = "2026-11-27T12:01:00.000000Z";
  const transitions = (before.spec?.leaseTransitions ?? 0) + 1;
  const spec = {
    holderIdentity: "go",
    leaseDurationSeconds: 15,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: transitions,
  };
  return { ...before, spec };
}

test("a record comes back as it was written, with the fields that client-go reads beside it", () => {
  const lease = written(HELD);
  expect(storedOf(lease).data).toEqual(HELD);
  expect(lease.spec).toEqual({
    holderIdentity: "pod-7_term-id-1",
    leaseDurationSeconds: 2,
    acquireTime: "2026-11-27T12:00:00.250000Z",
    renewTime: "2026-11-27T12:00:00.250000Z",
    leaseTransitions: 4,
  });
});

test("each acquisition of one candidate has an identity of its own, which is never the candidate's name", () => {
  const again = written({ ...HELD, term: 5, termId: "term-id-2", nonce: "nonce-2" }, written(HELD));
  expect(again.spec?.holderIdentity).toBe("pod-7_term-id-2");
});

test("a renewal keeps acquireTime, and renewTime rises by at least a second even if the clock steps back", () => {
  const first = written(HELD);
  const soon = written({ ...HELD, nonce: "nonce-2" }, first, NOW + 100);
  const back = written({ ...HELD, nonce: "nonce-3" }, soon, NOW - 3_600_000);
  const later = written({ ...HELD, nonce: "nonce-4" }, back, NOW + 60_000);
  expect([soon, back, later].map(({ spec }) => [spec?.acquireTime, spec?.renewTime])).toEqual([
    ["2026-11-27T12:00:00.250000Z", "2026-11-27T12:00:01.250000Z"],
    ["2026-11-27T12:00:00.250000Z", "2026-11-27T12:00:02.250000Z"],
    ["2026-11-27T12:00:00.250000Z", "2026-11-27T12:01:00.250000Z"],
  ]);
});

test("renewTime changes by whole seconds also at the end of time", () => {
  const first = written(HELD, undefined, Infinity);
  const second = written({ ...HELD, nonce: "nonce-2" }, first, Infinity);
  expect([first, second].map(({ spec }) => spec?.renewTime)).toEqual([
    "9999-01-01T00:00:00.000000Z",
    "9998-12-31T23:59:59.000000Z",
  ]);
});

test("a write of an administrator leaves spec alone, and the record still counts", () => {
  const first = written(HELD);
  const broken = written({ ...HELD, broken: { reason: "stuck", id: "order-1" } }, first);
  expect(broken.spec).toEqual(first.spec);
  expect(storedOf(broken).data).toMatchObject({ broken: { reason: "stuck" } });
});

describe("a holder by client-go", () => {
  const lease = takenByGo(written(HELD));

  test("is read as a holder without our fields, although the old annotation stands beside it", () => {
    const { data } = storedOf(lease);
    expect(parseLeaseRecord(data)).toMatchObject({ term: 5, candidateId: "go", leaseDurationMs: 15_000 });
    expect((data as LeaseRecord).termId).not.toBe(HELD.termId);
  });

  test("has a new nonce at each renewal, and not at a change of a label", () => {
    const nonceOf = (one: LeaseObject): string => (storedOf(one).data as LeaseRecord).nonce;
    const labelled = { ...lease, metadata: { ...lease.metadata, resourceVersion: "9" } };
    const renewed = { ...lease, spec: { ...lease.spec, renewTime: "2026-11-27T12:01:02.000000Z" } };
    expect(nonceOf(labelled)).toBe(nonceOf(lease));
    expect(nonceOf(renewed)).not.toBe(nonceOf(lease));
    expect((storedOf(renewed).data as LeaseRecord).termId).toBe((storedOf(lease).data as LeaseRecord).termId);
  });

  test.for([false, true])(
    "finds another holder after a break (immediate: %s), because it would take an empty Lease back",
    (immediate) => {
      const found = storedOf(lease).data as LeaseRecord;
      const broken = { ...found, broken: { reason: "stuck", id: "order-1" }, ...(immediate ? { termId: null, nonce: "n" } : {}) };
      const after = written(broken, lease);
      expect(after.spec).toEqual({ ...lease.spec, holderIdentity: "leasehold-break-order-1" });
      expect(storedOf(after).data).toEqual(broken);
    },
  );

  test.for([undefined, "restored"])("gives way to a repair (reason: %s), which sets the term and holds the Lease", (reason) => {
    // Also the lowest term that a repair may set holds the Lease for its own time.
    for (const term of [5, 5_000]) {
      const vacated = vacantRecord({ term, candidateId: "go", nonce: "n", leaseDurationMs: 60_000 });
      const held = withBars(vacated, [{ untilMs: 60_000, except: null }]);
      const after = written(reason === undefined ? held : { ...held, broken: { reason, id: "n" } }, lease);
      expect(after.spec).toMatchObject({
        holderIdentity: "leasehold-hold-n",
        leaseDurationSeconds: 60,
        leaseTransitions: term,
      });
    }
  });

  test("cannot be paused or asked to transfer", () => {
    const { data, version } = storedOf(lease);
    const paused = withBars(data as LeaseRecord, [{ untilMs: null, except: null, reason: "r", id: "i", sinceMs: 1 }]);
    expect(() => leasePatch("e", paused, version, true, NOW)).toThrow(/would not bind programs by client-go/);
  });

  test("leaves a vacant lease when it releases, and the next term is one more", () => {
    const released = { ...lease, spec: { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 } };
    expect(storedOf(released).data).toMatchObject({ term: 5, termId: null, candidateId: null });
  });
});

test("a release is the one of client-go, and a minimum hold keeps its candidates away", () => {
  const first = written(HELD);
  const vacated = { ...HELD, termId: null, nonce: "nonce-2" };
  expect(written(vacated, first).spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 4 });
  const held = withBars(vacated, [{ untilMs: 2_500, except: null }]);
  expect(written(held, first).spec).toMatchObject({ holderIdentity: "leasehold-hold-nonce-2", leaseDurationSeconds: 3 });
});

test.for([
  ["a Lease of the coordinated election", { spec: { strategy: "OldestEmulationVersion" } }, "coordinated election"],
  ["an annotation that is no JSON", { metadata: { annotations: { [ANNOTATION]: "{" } } }, "not an object"],
  ["a holder without a duration", { spec: { holderIdentity: "go" } }, "not an object"],
] as const)("%s is not read as a lease", ([, lease, problem]) => {
  const record = parseLeaseRecord(storedOf(lease).data);
  expect("problem" in record && record.problem).toContain(problem);
});

test("a Lease that was created without a spec is a vacant lease", () => {
  expect(storedOf({ metadata: { resourceVersion: "1" } }).data).toMatchObject({ term: 0, termId: null });
});

test("a term that leaseTransitions cannot hold is refused with the remedy", () => {
  expect(() => newLease("e", { ...HELD, term: 2 ** 31 }, NOW)).toThrow(/2147483647 at most\. Use an election of another name/);
});

test.for(["a", "nightly-billing", "v1.billing", "0", "a".repeat(253)])("the election '%s' is the name of a Lease", (name) => {
  expect(() => checkElection(name)).not.toThrow();
});

test.for(["Billing", "a_b", "a/b", "-a", "a-", "a..b", ".a", "a b", "é", "a".repeat(254)])(
  "the election '%s' is refused before any request",
  (name) => {
    const refused = ((): unknown => {
      try {
        return checkElection(name);
      } catch (error) {
        return error;
      }
    })();
    expect(isLeaseholdError(refused, "CONFIGURATION")).toBe(true);
  },
);
