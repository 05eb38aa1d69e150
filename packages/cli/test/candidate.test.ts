import { channel } from "node:diagnostics_channel";
import { EVENT_CHANNEL, LOOK_CHANNEL, type Elector, type LeaseSnapshot } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Candidate, type Happening } from "../src/serve/candidate.ts";

const LEASE_MS = 15_000;
const TIMING = { leaseDurationMs: LEASE_MS, validForMs: 13_500, retryPeriodMs: 2_000, attemptTimeoutMs: 2_500 };
const B = { candidateId: "b", term: 7, value: "http://b", state: "held" as const };

/** What an elector tells of itself. */
interface Told {
  state: string;
  leading: boolean;
  isLeader: boolean;
  term: number | undefined;
  validForMs: number;
  lastError: string | undefined;
  lastSeen: { readonly leader: object | undefined; readonly ageMs: number } | undefined;
}

describe("an elector, as others ask about it", () => {
  let clock: VirtualClock;
  let told: Told;
  let candidate: Candidate;
  let happenings: Happening[];
  let elector: object;

  beforeEach(() => {
    clock = new VirtualClock();
    told = {
      state: "standby",
      leading: false,
      isLeader: false,
      term: undefined,
      validForMs: 0,
      lastError: undefined,
      lastSeen: undefined,
    };
    happenings = [];
    elector = {
      election: "e",
      candidateId: "a",
      timing: TIMING,
      health: () => {
        const { state, leading, term, validForMs, lastError } = told;
        return { state, leading, term, validForMs, lastError, lastContactAgeMs: 1 };
      },
      get isLeader() {
        return told.isLeader;
      },
      get lastSeen() {
        return told.lastSeen;
      },
    };
    candidate = new Candidate(elector as Elector, clock);
    candidate.onHappening((happening) => happenings.push(happening));
  });

  afterEach(() => {
    candidate[Symbol.dispose]();
  });

  function looks(snapshot?: Partial<LeaseSnapshot>, by: object = elector): void {
    channel(LOOK_CHANNEL).publish({ elector: { deref: () => by }, snapshot, monotonicMs: clock.monotonicMs() });
  }

  function tells(name: string, details: object = {}, by: object = elector): void {
    // What measures elections may hear of it as well: tests share a process.
    const event = { election: "e", ...details };
    channel(EVENT_CHANNEL).publish({ elector: { deref: () => by }, name, event, monotonicMs: clock.monotonicMs() });
  }

  it("leads where it is leading, and not where it is ending", () => {
    expect(candidate.leads).toBe(false);
    told.state = "leading";
    expect(candidate.leads).toBe(true);
    expect(candidate.election).toBe("e");
  });

  it("stands by where it has looked within a lease", () => {
    expect(candidate.standsBy).toBe(false);
    told.lastSeen = { leader: undefined, ageMs: LEASE_MS };
    expect(candidate.standsBy).toBe(true);
    told.lastSeen = { leader: undefined, ageMs: LEASE_MS + 1 };
    expect(candidate.standsBy).toBe(false);
    told = { ...told, state: "leading", lastSeen: { leader: undefined, ageMs: 0 } };
    expect(candidate.standsBy).toBe(false);
  });

  it("is alive for a lease and two attempts after anything has happened, or three rounds of looks where that is longer", async () => {
    await clock.advance(20_000);
    expect(candidate.isAlive).toBe(true);
    await clock.advance(1);
    expect(candidate.isAlive).toBe(false);
    looks();
    expect(candidate.isAlive).toBe(true);
    await clock.advance(20_001);
    tells("renewed");
    expect(candidate.isAlive).toBe(true);
    const slow = { ...elector, timing: { ...TIMING, retryPeriodMs: 10_000 }, health: () => ({}) };
    using other = new Candidate(slow as unknown as Elector, clock);
    await clock.advance(37_500);
    expect(other.isAlive).toBe(true);
    await clock.advance(1);
    expect(other.isAlive).toBe(false);
  });

  it("is not alive while its work overruns", () => {
    tells("overrun");
    expect(candidate.isAlive).toBe(false);
    tells("renewed");
    expect(candidate.isAlive).toBe(false);
    tells("stoppedLeading", { released: true });
    expect(candidate.isAlive).toBe(true);
  });

  it("knows that it leads itself, and with what value", () => {
    told = { ...told, isLeader: true, term: 7 };
    expect(candidate.leader).toEqual({ candidateId: "a", term: 7 });
    told.lastSeen = { leader: { ...B, candidateId: "a" }, ageMs: 0 };
    expect(candidate.leader).toEqual({ candidateId: "a", term: 7, value: "http://b" });
    told.term = undefined;
    expect(candidate.leader).toMatchObject({ candidateId: "a" });
  });

  it("knows who leads, or that nobody does, from what was seen within a lease", () => {
    expect(candidate.leader).toBeUndefined();
    told.lastSeen = { leader: B, ageMs: 0 };
    expect(candidate.leader).toEqual({ candidateId: "b", term: 7, value: "http://b" });
    told.lastSeen = { leader: { ...B, value: undefined }, ageMs: 0 };
    expect(candidate.leader).toEqual({ candidateId: "b", term: 7 });
    told.lastSeen = { leader: undefined, ageMs: 0 };
    expect(candidate.leader).toBeNull();
    told.lastSeen = { leader: B, ageMs: LEASE_MS + 1 };
    expect(candidate.leader).toBeUndefined();
    told.lastSeen = { leader: { ...B, state: "unknown" }, ageMs: 0 };
    expect(candidate.leader).toBeUndefined();
    // Its own term, which is over, and nothing was seen since.
    told = { ...told, lastSeen: { leader: B, ageMs: 0 }, term: 7 };
    expect(candidate.leader).toBeUndefined();
  });

  it("cannot tell who leads after it has left its lease to run out, until it looks again", () => {
    told.lastSeen = { leader: B, ageMs: 0 };
    tells("stoppedLeading", { released: false });
    expect([candidate.leader, candidate.standsBy]).toEqual([undefined, false]);
    looks();
    expect(candidate.leader).toMatchObject({ candidateId: "b" });
    tells("stoppedLeading", { released: true });
    expect(candidate.leader).toMatchObject({ candidateId: "b" });
  });

  it("shows what it knows of another's lease, and how old that is", async () => {
    expect(candidate.view()).toEqual({
      election: "e",
      candidateId: "a",
      state: "standby",
      leading: false,
      leader: null,
      known: false,
      validForMs: 0,
      leaseDurationMs: LEASE_MS,
      terms: [],
      alive: true,
      store: { lastContactAgeMs: 1, lastError: undefined },
    });
    told.lastSeen = { leader: B, ageMs: 0 };
    looks({ ageMs: [3_000, 4_000], leaseDurationMs: 20_000 });
    tells("newLeader", { leader: B });
    await clock.advance(500);
    expect(candidate.view()).toMatchObject({
      leader: { candidateId: "b", term: 7 },
      known: true,
      leaseAgeMs: 3_500,
      leaseDurationMs: 20_000,
      changedMs: 500,
      terms: [{ term: 7, candidateId: "b", sinceMs: 500 }],
    });
    looks({ leaseDurationMs: 20_000 });
    expect(candidate.view()).not.toHaveProperty("leaseAgeMs");
    told.lastSeen = { leader: undefined, ageMs: 0 };
    looks({ ageMs: [3_000, 4_000] });
    expect(candidate.view()).toMatchObject({ leader: null, known: true, leaseDurationMs: LEASE_MS });
    expect(candidate.view()).not.toHaveProperty("leaseAgeMs");
  });

  it("shows its own lease by its own validity, and no younger than new", () => {
    looks({ leaseDurationMs: 20_000, ageMs: [9_000, 9_000] });
    told = { ...told, state: "leading", leading: true, isLeader: true, term: 8, validForMs: 12_000 };
    expect(candidate.view()).toMatchObject({ leaseAgeMs: 1_500, leaseDurationMs: LEASE_MS, validForMs: 12_000, leading: true });
    expect(candidate.view()).not.toHaveProperty("term");
    told.validForMs = 14_000;
    expect(candidate.view().leaseAgeMs).toBe(0);
  });

  it("tells of changes, of looks, and of nothing of another's", () => {
    looks();
    looks({}, { election: "e" });
    for (const name of ["renewed", "renewFailed", "listenerFailed", "storeFailed", "newLeader", "startedLeading"])
      tells(name, {});
    tells("newLeader", {}, { election: "e" });
    expect(happenings).toEqual(["look", "look", "look", "look", "look", "change", "change"]);
  });

  it("tells of a change where the store begins to fail, and where it ceases to", () => {
    told.lastError = "STORE_TIMEOUT";
    tells("storeFailed");
    tells("storeFailed");
    told.lastError = undefined;
    looks();
    looks();
    expect(happenings).toEqual(["change", "look", "change", "look"]);
  });

  it("tells those alone who still listen, and nobody once it is disposed of", () => {
    const others: Happening[] = [];
    const stop = candidate.onHappening((happening) => {
      others.push(happening);
      stop();
    });
    looks();
    looks();
    expect([happenings.length, others.length]).toEqual([2, 1]);
    candidate[Symbol.dispose]();
    looks();
    tells("newLeader", { leader: B });
    expect(happenings).toHaveLength(2);
    expect(candidate.view().terms).toEqual([]);
  });
});
