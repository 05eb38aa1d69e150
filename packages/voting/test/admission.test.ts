/** When a started server may take part, and with which state, by the reports of the others. */
import { describe, expect, test } from "vitest";
import { StartupRecovery, LONGEST_CLAIM_MS, majorityOf } from "../src/startup-recovery.ts";
import type { StateReply } from "../src/messages.ts";

const TOLD: StateReply = {
  kind: "TELL",
  forgot: false,
  isFresh: false,
  floor: 0,
  clockFloor: 0,
  terms: {},
  longestLeaseMs: 0,
};
const start = (servers: number, forgot = true): StartupRecovery => new StartupRecovery({ servers, startMs: 1_000, forgot });

test.each([
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 3],
  [5, 3],
  [7, 4],
])("of %d servers, %d are a majority", (servers, majority) => {
  expect(majorityOf(servers)).toBe(majority);
});

describe("a server whose file is from another list", () => {
  const moved = (servers: number): StartupRecovery =>
    new StartupRecovery({ servers, startMs: 1_000, forgot: false, isMoved: true });
  const OWN = { floor: 4, clockFloor: 1, isFresh: false, elections: { e: { term: 7, votedFor: "t", leaseDurationMs: 500 } } };

  test.each([
    [1, 0],
    [2, 1],
    [3, 1],
    [4, 2],
    [5, 2],
  ])("of %d servers takes part once %d others with their state have reported", (servers, needed) => {
    const admission = moved(servers);
    for (const name of ["b", "c"].slice(0, needed)) {
      expect(admission.isIntact({}, 60_000)).toBe(false);
      admission.hears(name, { ...TOLD, forgot: true }, 0, 1_000);
      expect(admission.isIntact({}, 60_000)).toBe(false);
      expect(admission.waitsFor(["b", "c", "d", "e"].slice(0, servers - 1))).toContain("its list of servers has changed");
      admission.hears(name, TOLD, 0, 1_000);
    }
    expect(admission.isIntact({}, 60_000)).toBe(true);
  });

  test("goes on with all that it or the others know, and blocks the others' elections for the longest lease", () => {
    const admission = moved(5);
    admission.hears("b", { ...TOLD, floor: 5, terms: { e: 8, f: 4, g: 6 }, longestLeaseMs: 9_000 }, 0, 1_000);
    admission.hears("c", { ...TOLD, floor: 3, clockFloor: 2, terms: { e: 6, constructor: 5 } }, 0, 1_000);
    const news = { votedFor: null, leaseDurationMs: 9_000 };
    expect(admission.movedOn(OWN)).toEqual({
      floor: 5,
      clockFloor: 2,
      isFresh: false,
      // This server has dropped f at a later term than the others know. The lease of f may be valid all the same.
      elections: { e: { term: 8, ...news }, f: { term: 4, ...news }, g: { term: 6, ...news }, constructor: { term: 5, ...news } },
    });
  });

  test("blocks also for a lease of an earlier term than its own, and for its own lease if that is longer", () => {
    const admission = moved(5);
    admission.hears("b", { ...TOLD, terms: { e: 3 }, longestLeaseMs: 9_000 }, 0, 1_000);
    expect(admission.movedOn(OWN)?.elections).toEqual({ e: { term: 7, votedFor: "t", leaseDurationMs: 9_000 } });
    admission.hears("b", { ...TOLD, terms: { e: 8 }, longestLeaseMs: 100 }, 0, 1_000);
    expect(admission.movedOn(OWN)?.elections).toEqual({ e: { term: 8, votedFor: null, leaseDurationMs: 500 } });
  });

  test("takes an election that others have dropped to be at their floor", () => {
    const admission = moved(2);
    admission.hears("b", { ...TOLD, floor: 9 }, 0, 1_000);
    expect(admission.movedOn(OWN)).toMatchObject({ floor: 9, elections: { e: { term: 9, votedFor: null } } });
  });

  test("goes on with its own state if no other server knows more, and also if its list is the same", () => {
    const admission = moved(2);
    admission.hears("b", { ...TOLD, floor: 4, clockFloor: 1, terms: { e: 7, f: 3 } }, 0, 1_000);
    expect(admission.movedOn(OWN)).toBeUndefined();
    const same = start(2, false);
    same.hears("b", { ...TOLD, floor: 9 }, 0, 1_000);
    expect(same.movedOn(OWN)).toBeUndefined();
  });
});

describe("a server with an intact file", () => {
  test("takes part once all others have reported, or the longest known lease has passed", () => {
    const admission = start(3, false);
    expect(admission.forgot).toBe(false);
    expect([5_999, 6_000].map((nowMs) => admission.isIntact({ e: 5_000, f: 0 }, nowMs))).toEqual([false, true]);
    admission.hears("b", { ...TOLD, longestLeaseMs: 8_000 }, 0, 1_000);
    expect([8_999, 9_000].map((nowMs) => admission.isIntact({ e: 5_000, f: 0 }, nowMs))).toEqual([false, true]);
    admission.hears("b", TOLD, 0, 1_000);
    expect(admission.isIntact({ e: 5_000, f: 0 }, 1_000)).toBe(false);
    admission.hears("c", TOLD, 0, 1_000);
    expect(admission.isIntact({ e: 5_000, f: 0 }, 1_000)).toBe(true);
  });

  test("takes part in an election once its longest lease has passed, whatever the leases of others", () => {
    const admission = start(3, false);
    const own = { e: 5_000, f: 0, yearly: 90_000 };
    const isIn = (election: string, nowMs: number): boolean => admission.isIntactIn(election, own, nowMs);
    expect(isIn("e", 6_000)).toBe(false);
    admission.hasAsked = true;
    expect([5_999, 6_000].map((nowMs) => isIn("e", nowMs))).toEqual([false, true]);
    admission.hears("b", { ...TOLD, longestLeaseMs: 95_000, leases: { e: 8_000, g: 7_000, yearly: 95_000 } }, 0, 1_000);
    expect(isIn("f", 1_000)).toBe(true);
    expect([7_999, 8_000].map((nowMs) => isIn("g", nowMs))).toEqual([false, true]);
    expect([8_999, 9_000].map((nowMs) => isIn("e", nowMs))).toEqual([false, true]);
    // No server knows it, so its lease may be as long as any.
    expect([95_999, 96_000].map((nowMs) => isIn("constructor", nowMs))).toEqual([false, true]);
    expect(admission.isIntact(own, 95_999)).toBe(false);
    // An older version reports only the longest lease.
    admission.hears("b", { ...TOLD, longestLeaseMs: 20_000 }, 0, 1_000);
    expect([20_999, 21_000].map((nowMs) => isIn("e", nowMs))).toEqual([false, true]);
    admission.loses(2_000);
    expect(isIn("e", 999_999)).toBe(false);
  });

  test("loses its state if another server remembers more, and then needs all reports again", () => {
    const admission = start(2, false);
    admission.hears("b", TOLD, 3, 1_000);
    admission.loses(2_000);
    expect(admission.forgot).toBe(true);
    expect(admission.isIntact({}, 999_999)).toBe(false);
    expect(admission.beginning(999_999, 0)).toBeUndefined();
  });
});

describe("a server that has lost its file", () => {
  test("begins once all others have reported and the longest lease that may be valid has passed", () => {
    const admission = start(3);
    admission.hears("b", { ...TOLD, longestLeaseMs: 5_000, terms: { e: 4, f: 1 }, floor: 2, clockFloor: 9 }, 7, 1_000);
    expect(admission.beginning(999_999, 5_000)).toBeUndefined();
    admission.hears("c", { ...TOLD, terms: { e: 3 }, floor: 3, clockFloor: 8 }, 5, 1_000);
    expect(admission.beginning(5_999, 5_000)).toBeUndefined();
    expect(admission.beginning(6_000, 5_000)).toEqual({
      ballots: {
        floor: 3,
        clockFloor: 9,
        isFresh: false,
        elections: { e: { term: 4, votedFor: null, leaseDurationMs: 0 }, f: { term: 3, votedFor: null, leaseDurationMs: 0 } },
      },
      writes: 8,
    });
  });

  test("takes an election that one server has dropped to be at that server's floor, even if another one reports less", () => {
    const admission = start(3);
    admission.hears("b", { ...TOLD, floor: 7 }, 0, 1_000);
    admission.hears("c", { ...TOLD, terms: { e: 4 } }, 0, 1_000);
    expect(admission.beginning(1_000, 0)?.ballots.elections["e"]).toEqual({ term: 7, votedFor: null, leaseDurationMs: 0 });
  });

  test("needs all others but a minority, asked after every claim with its vote has stopped counting", () => {
    const admission = start(5);
    for (const [at, name] of ["b", "c", "d"].entries()) {
      expect(admission.beginning(999_999, 0)).toBeUndefined();
      admission.hears(name, TOLD, at, 1_000 + LONGEST_CLAIM_MS);
    }
    expect(admission.beginning(999_999, 0)).toMatchObject({ writes: 3 });
    // A server that was asked a moment earlier might not know the latest votes yet.
    admission.hears("d", TOLD, 2, 999 + LONGEST_CLAIM_MS);
    expect(admission.beginning(999_999, 0)).toBeUndefined();
  });

  test("does not count others without state, except if no server has voted; then the clock gives the floor", () => {
    const admission = start(3);
    admission.hears("b", { ...TOLD, forgot: true }, 0, 1_000);
    admission.hears("c", { ...TOLD, isFresh: true }, 0, 1_000);
    expect(admission.beginning(1_000, 7_999)).toMatchObject({ ballots: { clockFloor: 7, isFresh: true } });
    admission.hears("c", TOLD, 0, 1_000);
    expect(admission.beginning(999_999, 7_999)).toBeUndefined();
    // A server that has begun and not voted counts beside one that has voted.
    admission.hears("b", { ...TOLD, isFresh: true }, 0, 1_000);
    expect(admission.beginning(999_999, 7_999)).toMatchObject({ ballots: { clockFloor: 0, isFresh: false } });
  });

  test("says what it waits for", () => {
    const others = ["b", "c"];
    expect(start(3, false).waitsFor(others)).toContain(
      "it waits for b and c to answer, or in each election for the longest lease to end",
    );
    const admission = start(3);
    expect(admission.waitsFor(others)).toContain("it waits for more servers to report their state: 2 of b and c.");
    admission.hears("b", TOLD, 0, 1_000);
    expect(admission.waitsFor(others)).toContain("it waits for more servers to report their state: 1 of c.");
    admission.hears("c", { ...TOLD, forgot: true }, 0, 1_000);
    expect(admission.waitsFor(others)).toMatch(/has lost its file.*nor does c, and b alone cannot tell them all.*stop b, remove/);
    admission.hears("c", TOLD, 0, 1_000);
    expect(admission.waitsFor(others)).toContain("it waits for the claims and the longest lease to end");
  });
});
