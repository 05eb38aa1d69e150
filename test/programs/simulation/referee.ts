import type { Leadership } from "@leasehold/core";
import type { Candidate } from "./candidate.ts";
import { Overruns } from "./overruns.ts";
import type { Line } from "./line.ts";
import { FASTEST_RATE, SLOWEST_RATE, type Grant, type JoinedPlace } from "./stores/simulated-store.ts";
import { holdsAfterSeal } from "./stores/stores.ts";
import { Violation, type Invariant } from "./violation.ts";
import type { World } from "./world.ts";

/** The time in which a process that runs again notices its clocks by its timers. See CLOCK_CHECK_MS in `term-machine.ts`. */
const NOTICES_WITHIN_MS = 10;
const NOTICES_SLEEP_WITHIN_MS = 1_000 / SLOWEST_RATE + NOTICES_WITHIN_MS;

/**
 * The shortest pause between two terms of one elector, with any options. It is shorter than the elector's wait, and longer than
 * its requests.
 */
const SHORTEST_PAUSE_MS = 60;

/** A leadership as the world sees it. */
export interface View {
  readonly candidate: Candidate;
  readonly leadership: Leadership;
}

/** Sees everything, and checks the invariants. */
export class Referee {
  readonly #world: World;
  readonly #views = new Set<View>();
  readonly #overruns: Overruns;
  #violation: Violation | undefined;
  /** True while the record is corrupted. */
  #isSpoilt = false;
  /** A restored record may be older than what some candidates observed, and reserved for one. */
  wasSpoilt = false;
  /** The highest term that was given out. */
  highestTerm = 0;
  #highestWritten = 0;
  /** Terms up to this one may have been broken without waiting for their holders. */
  #exemptTerm = 0;
  /** The number of immediate breaks that have not settled. */
  #immediateBreaks = 0;
  /** Terms that were ended without their leaders' knowledge, and the time by which the leaders must have noticed. */
  readonly #excused = new Map<number, number>();
  /** The term of the last place that was taken in the queue. */
  #lastPlace = 0;
  /** Terms that were broken, and the time by which their leaders know. */
  readonly #mustEnd = new Map<number, number>();
  /** The term given out last, and the candidate that has begun to lead it, if one has. */
  #lastGrant: { readonly termId: string; readonly atMs: number; led: Candidate | undefined } | undefined;
  /** The number of terms that were given out. */
  terms = 0;

  constructor(world: World) {
    this.#world = world;
    this.#overruns = new Overruns(world);
    const { view } = world.store;
    view.granted = (grant) => this.#granted(grant);
    view.forked = (what) => this.violate("one-record", what);
    view.joined = (place) => this.#joined(place);
    view.wroteBroken = (term) => this.violate("break-holds", `term ${term} was broken`);
    view.rolledBack = (term, claims) => {
      this.#rolledBack(term);
      world.schedule.rolledBack(claims);
      world.orders.rolledBack();
    };
    view.wrote = ({ term, entry }) => this.#wrote(term, entry);
  }

  /** Records the violation of an invariant. The first one counts. The run ends after the present step. */
  violate(invariant: Invariant, what: string): void {
    this.#violation ??= new Violation(invariant, what);
  }

  /** Checks everything. @throws {Violation} */
  check(): void {
    this.checkLeaderships();
    this.#checkElectors();
    this.#checkOverruns();
    if (this.#violation) throw this.#violation;
  }

  /** A candidate's task got a leadership. */
  leads(candidate: Candidate, leadership: Leadership): void {
    this.#views.add({ candidate, leadership });
    if (this.#lastGrant?.termId === leadership.termId) this.#lastGrant.led = candidate;
    if (this.#world.plan.asks && !leadership.isValid()) {
      this.violate("starts-valid", `${candidate.id} in term ${leadership.term}`);
    }
    if (!this.#world.history) return;
    leadership.signal.addEventListener("abort", () =>
      this.#world.note(candidate.id, `signal of term ${leadership.term} aborts (${String(leadership.signal.reason)})`),
    );
  }

  /** A candidate learnt that its lease belongs to another. */
  lost(candidate: Candidate): void {
    if (candidate.elector.isLeader) this.violate("loss-is-final", `${candidate.id} in term ${candidate.term}`);
  }

  /** A candidate reported that a term has stopped while its task was pending. */
  stoppedEarly(candidate: Candidate): void {
    this.violate("one-task", `${candidate.id} says that its term has stopped, and its task is pending`);
  }

  /** A task was started while another one is pending in the same process. */
  startedSecondTask(candidate: Candidate): void {
    this.violate("one-task", `${candidate.id} has ${candidate.pending} tasks pending`);
  }

  /** A candidate's elector gave up with this error without a reason. */
  gaveUp(candidate: Candidate, error: unknown): void {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.violate("run-goes-on", `${candidate.id} gave up: ${why}`);
  }

  /** The last call of a candidate has settled. If nothing has been wrong for long, it must leave nothing behind. */
  settled(candidate: Candidate): void {
    const { store, plan, nowMs, leaseMs } = this.#world;
    if (!store.faults || nowMs < plan.calmAtMs + leaseMs || !candidate.releases) return;
    // A place has its candidate's name, and another candidate here may have the same name.
    const namesakes = [...this.#world.everyone].filter(({ clock, id }) => clock === candidate.clock && id === candidate.id);
    if (namesakes.length === 1 && store.faults.hasPlace(candidate.clock, candidate.id))
      this.violate("all-stop", `${candidate.id} still stands in the queue`);
  }

  /** A candidate leads again `afterMs` after the end of its last term, with only its own options between the two. */
  returned(candidate: Candidate, afterMs: number): void {
    if (afterMs >= SHORTEST_PAUSE_MS) return;
    this.violate("terms-pause", `${candidate.id} leads again ${afterMs.toFixed(1)} ms after its last term`);
  }

  /** The time at which the last term was given out. */
  get grantedMs(): number {
    return this.#lastGrant?.atMs ?? 0;
  }

  get isSpoilt(): boolean {
    return this.#isSpoilt;
  }

  /** The record was corrupted. Its leader is unknown until it is restored. */
  spoilt(): void {
    this.#isSpoilt = true;
    this.wasSpoilt = true;
  }

  putBack(): void {
    this.#isSpoilt = false;
  }

  /**
   * A term is about to be ended without waiting for its holder. Until the returned function is called, it may be any term,
   * because it is not known yet which one the break has hit. The function takes the broken term. Its grant may come later:
   * voters may break a term whose candidate has not heard of its election.
   */
  exempt(): (brokenTerm?: number) => void {
    this.#immediateBreaks += 1;
    return (brokenTerm = 0) => {
      this.#immediateBreaks -= 1;
      this.#exemptTerm = Math.max(this.#exemptTerm, this.highestTerm, brokenTerm);
    };
  }

  /** A term was ended in a way that its leader cannot know of before `untilMs`. */
  excuse(term: number, untilMs: number): void {
    this.#excused.set(term, untilMs);
  }

  #isExempt(term: number): boolean {
    if (this.#immediateBreaks > 0 || term <= this.#exemptTerm) return true;
    return this.#world.nowMs < (this.#excused.get(term) ?? -Infinity);
  }

  /** A term was broken. Its leader learns of that at a renewal. Without a renewal the term expires. */
  broken(term: number): void {
    if (!this.#mustEnd.has(term)) this.#mustEnd.set(term, this.#world.nowMs + this.#world.leaseMs / SLOWEST_RATE);
  }

  /** Returns the latest leadership for which `isSo` is true. */
  lastView(isSo: (view: View) => boolean): View | undefined {
    return [...this.#views].findLast(isSo);
  }

  /** The leader, if there is one: its process runs, its signal has not aborted, and no other candidate can get the lease. */
  get leader(): View | undefined {
    return this.lastView(
      ({ candidate, leadership }) =>
        candidate.clock.running &&
        !leadership.signal.aborted &&
        this.#world.store.barredUntilMs(leadership.termId) > this.#world.nowMs,
    );
  }

  /** Asks every leadership of a running process, and compares its answer with the facts. */
  checkLeaderships(): void {
    const { plan, store, nowMs } = this.#world;
    let valid: View | undefined;
    for (const view of this.#views) {
      const { candidate, leadership } = view;
      if (!candidate.clock.alive) {
        this.#views.delete(view);
        continue;
      }
      // A frozen process can do nothing. It is asked as soon as it runs.
      if (!candidate.clock.running) continue;
      const isValid = plan.asks && leadership.isValid();
      if (leadership.signal.aborted && !isValid) {
        if (plan.asks) this.#views.delete(view);
        continue;
      }
      this.#checkStall(view);
      const isGivenUp = leadership.signal.aborted || !this.#hasHadTime(candidate);
      if (nowMs > (this.#mustEnd.get(leadership.term) ?? Infinity) && !isGivenUp) {
        this.violate("break-holds", `${candidate.id} goes on in term ${leadership.term}`);
      }
      if (this.#isExempt(leadership.term)) continue;
      const isBarred = this.#isSpoilt || nowMs < store.barredUntilMs(leadership.termId);
      if (isValid) {
        if (!isBarred) this.violate("lease-covers-validity", `${candidate.id} is valid in term ${leadership.term}`);
        if (valid) {
          const [one, other] = [valid, view].map((each) => `${each.candidate.id} (term ${each.leadership.term})`);
          this.violate("one-leader", `${one} and ${other}`);
        }
        valid = view;
      }
      if (!isBarred && !leadership.signal.aborted && this.#hasHadTime(candidate)) {
        this.violate("loss-is-signalled", `${candidate.id} in term ${leadership.term}`);
      }
    }
  }

  /** Checks each elector's own report, whatever its tasks got. */
  #checkElectors(): void {
    if (!this.#world.plan.asks) return;
    const fair: Candidate[] = [];
    for (const candidate of this.#world.everyone) {
      const { clock, elector, term } = candidate;
      if (clock.running && elector.isLeader && !this.#isExempt(term)) fair.push(candidate);
    }
    if (fair.length > 1) this.violate("one-leader", `isLeader is true for ${fair.map(({ id }) => id).join(" and ")}`);
  }

  /** Checks that a task that nothing covers any more is reported, so that its process can end soon. */
  #checkOverruns(): void {
    if (this.wasSpoilt) return;
    for (const { id, leadership } of this.#overruns.untold()) {
      const term = leadership?.term ?? 0;
      if (!this.#isExempt(term)) this.violate("overrun-is-told", `${id} in term ${term}`);
    }
  }

  #checkStall({ candidate, leadership }: View): void {
    const { stallTimeoutMs = Infinity } = this.#world.plan.timing;
    const silentMs = candidate.clock.monotonicMs() - candidate.checkpointMs;
    if (silentMs <= stallTimeoutMs + NOTICES_WITHIN_MS || leadership.signal.aborted || !this.#hasHadTime(candidate)) return;
    this.violate("stall-ends", `${candidate.id} in term ${leadership.term}`);
  }

  #granted(grant: Grant): void {
    const { term, termId, candidateId, barredBy, barredUntilMs = -Infinity, heldBy = "" } = grant;
    this.terms += 1;
    if (this.#world.nowMs < barredUntilMs && !this.wasSpoilt && !this.#share(candidateId, heldBy)) {
      const earlyMs = Math.round(barredUntilMs - this.#world.nowMs);
      this.violate("waits-out", `${candidateId} acquires term ${term} ${earlyMs} ms before that of ${heldBy} may have run out`);
    }
    if (barredBy && !this.wasSpoilt) {
      const invariant = barredBy.kind === "hold" ? "hold-holds" : "reservation-holds";
      this.violate(invariant, `${candidateId} acquires term ${term}, which is kept by ${barredBy.by}`);
    }
    this.#checkHold(grant);
    this.#world.note("service", `grants term ${term} (${termId.slice(0, 4)})`);
    if (term <= this.highestTerm) this.violate("terms-rise", `term ${term} after term ${this.highestTerm}`);
    this.highestTerm = Math.max(this.highestTerm, term);
  }

  /** Unacknowledged writes are gone: their terms were given to no candidate, and their orders were not carried out. */
  #rolledBack(term: number): void {
    this.#world.note("service", `goes back to term ${term}`);
    this.highestTerm = term;
    this.#exemptTerm = Math.min(this.#exemptTerm, term);
    this.#highestWritten = Math.min(this.#highestWritten, term);
    this.#mustEnd.clear();
    this.#lastGrant = undefined;
  }

  /**
   * A candidate in its cooldown must not be in a queue. It may join if it may have observed a newer term, because it would
   * otherwise block those behind it.
   */
  #joined({ process, candidateId, term }: JoinedPlace): void {
    const here = [...this.#world.everyone].filter(({ clock, id }) => clock === process && id === candidateId);
    if (here.length > 0 && here.every((each) => each.standsBack && each.term >= this.#lastPlace)) {
      this.violate("place-is-held-to-lead", `${candidateId} joins the queue in its cooldown after term ${here[0]?.term}`);
    }
    this.#lastPlace = term;
  }

  /** True if two candidates share a store object. It knows which lease the one has left, so that the other may take it. */
  #share(one: string, other: string): boolean {
    const homes = (id: string): Line[] =>
      [...this.#world.everyone].filter((each) => each.id === id).map(({ process }) => process);
    const others = new Set(homes(other));
    return homes(one).some((home) => others.has(home));
  }

  /** The work of a term throws, so its hold does not apply. */
  failed({ termId }: Leadership): void {
    if (this.#lastGrant?.termId === termId) this.#lastGrant.led = undefined;
  }

  /** Checks that the hold of the last leader was kept, whatever happened to it in the record. */
  #checkHold({ term, termId, candidateId, lifted = true }: Grant): void {
    const { nowMs } = this.#world;
    const { led, atMs } = this.#lastGrant ?? {};
    const { minimumHoldMs = 0 } = led?.plan ?? {};
    // The hold counts from before the winning request was sent. The request has the time of two attempts.
    const sentMs = (atMs ?? 0) - (2 * (led?.elector.timing.attemptTimeoutMs ?? 0)) / SLOWEST_RATE;
    if (!lifted && !this.wasSpoilt && nowMs < sentMs + minimumHoldMs / FASTEST_RATE) {
      this.violate("hold-holds", `${candidateId} acquires term ${term} before ${led?.id} has had its hold`);
    }
    this.#lastGrant = { termId, atMs: nowMs, led: undefined };
  }

  #wrote(term: number, entry: string): void {
    const { plan, store } = this.#world;
    this.#world.note("service", `accepts the write '${entry}' of term ${term}`);
    if (term < this.#highestWritten) this.violate("fence", `a write of term ${term} after one of term ${this.#highestWritten}`);
    // On a blob or an object the fence is the term that wrote last. On other stores it is the term that leads.
    const isOver = term < this.highestTerm || !store.held;
    if (isOver && !holdsAfterSeal(plan.store) && !this.#isSpoilt)
      this.violate("fence", `a write of term ${term}, which was over`);
    this.#highestWritten = Math.max(this.#highestWritten, term);
  }

  /** True if a process has run long enough for its timers to have noticed its clocks. */
  #hasHadTime({ process: { thawed } }: Candidate): boolean {
    if (!thawed) return true;
    return this.#world.nowMs - thawed.atMs > (thawed.slept ? NOTICES_SLEEP_WITHIN_MS : NOTICES_WITHIN_MS);
  }
}
