import { channel } from "node:diagnostics_channel";
import { EVENT_CHANNEL, LOOK_CHANNEL } from "@leasehold/core/diagnostics";
import type { Elector, LeaseSnapshot } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ServedElector, type Happening } from "../src/serve/candidate.ts";

const LEASE_MS = 15_000;
const TIMING = { leaseDurationMs: LEASE_MS, validForMs: 13_500, retryPeriodMs: 2_000, attemptTimeoutMs: 2_500 };
const B = { candidateId: "b", term: 7, value: "http://b", state: "held" as const };

/** The properties of an elector that a `Candidate` reads. */
interface Told {
  state: string;
  leading: boolean;
  isLeader: boolean;
  term: number | undefined;
  validForMs: number;
  lastError: string | undefined;
  lastSeen: { readonly leader: object | undefined; readonly ageMs: number } | undefined;
}

describe("the state of an elector for HTTP", () => {
  let clock: VirtualClock;
  let told: Told;
  let candidate: ServedElector;
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
    candidate = new ServedElector(elector as Elector, clock);
    candidate.onHappening((happening) => happenings.push(happening));
  });

  afterEach(() => {
    candidate[Symbol.dispose]();
  });

  function looks(snapshot?: Partial<LeaseSnapshot>, by: object = elector): void {
    channel(LOOK_CHANNEL).publish({ elector: { deref: () => by }, snapshot, monotonicMs: clock.monotonicMs() });
  }

  function tells(name: string, details: object = {}, by: object = elector): void {
    // Tests share a process, so a measurement of another test may get the event as well.
    const event = { election: "e", ...details };
    channel(EVENT_CHANNEL).publish({ elector: { deref: () => by }, name, event, monotonicMs: clock.monotonicMs() });
  }

  it("leads while it is leading, but not while it is stopping", () => {
    expect(candidate.leads).toBe(false);
    told.state = "leading";
    expect(candidate.leads).toBe(true);
    expect(candidate.election).toBe("e");
  });

  it("is alive for a lease and two attempts after an event, or for three rounds of polls if that is longer", async () => {
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
    using other = new ServedElector(slow as unknown as Elector, clock);
    await clock.advance(37_500);
    expect(other.isAlive).toBe(true);
    await clock.advance(1);
    expect(other.isAlive).toBe(false);
  });

  it("is not alive while its task overruns", () => {
    tells("overrun");
    expect(candidate.isAlive).toBe(false);
    tells("renewed");
    expect(candidate.isAlive).toBe(false);
    tells("stoppedLeading", { released: true });
    expect(candidate.isAlive).toBe(true);
  });

  it("shows itself as the leader, with its value", () => {
    told = { ...told, isLeader: true, term: 7 };
    expect(candidate.leader).toEqual({ candidateId: "a", term: 7 });
    told.lastSeen = { leader: { ...B, candidateId: "a" }, ageMs: 0 };
    expect(candidate.leader).toEqual({ candidateId: "a", term: 7, value: "http://b" });
    told.term = undefined;
    expect(candidate.leader).toMatchObject({ candidateId: "a" });
  });

  it("shows the leader, or that nobody leads, by an observation within a lease", () => {
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
    // The last observation shows its own term, which is over.
    told = { ...told, lastSeen: { leader: B, ageMs: 0 }, term: 7 };
    expect(candidate.leader).toBeUndefined();
  });

  it("cannot tell who leads after its own lease ran out, until its next read", () => {
    told.lastSeen = { leader: B, ageMs: 0 };
    tells("stoppedLeading", { released: false });
    expect(candidate.leader).toBeUndefined();
    looks();
    expect(candidate.leader).toMatchObject({ candidateId: "b" });
    tells("stoppedLeading", { released: true });
    expect(candidate.leader).toMatchObject({ candidateId: "b" });
  });

  it("shows what it knows of another candidate's lease, and its age", async () => {
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

  it("shows the age of its own lease by its own validity, and never a negative age", () => {
    looks({ leaseDurationMs: 20_000, ageMs: [9_000, 9_000] });
    told = { ...told, state: "leading", leading: true, isLeader: true, term: 8, validForMs: 12_000 };
    expect(candidate.view()).toMatchObject({ leaseAgeMs: 1_500, leaseDurationMs: LEASE_MS, validForMs: 12_000, leading: true });
    expect(candidate.view()).not.toHaveProperty("term");
    told.validForMs = 14_000;
    expect(candidate.view().leaseAgeMs).toBe(0);
  });

  it("reports its changes and reads, but no event of another elector", () => {
    looks();
    looks({}, { election: "e" });
    for (const name of ["renewed", "renewFailed", "listenerFailed", "storeFailed", "newLeader", "startedLeading"])
      tells(name, {});
    tells("newLeader", {}, { election: "e" });
    expect(happenings).toEqual(["look", "look", "look", "look", "look", "change", "change"]);
  });

  it("reports a change when the store begins to fail, and when it recovers", () => {
    told.lastError = "STORE_TIMEOUT";
    tells("storeFailed");
    tells("storeFailed");
    told.lastError = undefined;
    looks();
    looks();
    expect(happenings).toEqual(["change", "look", "change", "look"]);
  });

  it("calls only the listeners that are still added, and none after its disposal", () => {
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
