import type { Leadership } from "@leasehold/core";
import { ProcessClock, promptNetwork, SeededRandom, VirtualClock } from "@leasehold/core/testing";
import { Candidate, type Witness } from "./candidate.ts";
import { LAST_ARRIVALS_MS, RETRY_AFTER_LEASES, type FaultCounts } from "./network.ts";
import type { CandidatePlan, Mishap, Plan, Victim } from "./plan.ts";
import { ELECTION, SLOWEST_RATE, type SimulatedStore } from "./stores/simulated-store.ts";
import { openStore } from "./stores/stores.ts";
import { Violation, type Invariant } from "./violation.ts";

/** How long after it runs again a process may take to notice by its timers what its clocks say; see CLOCK_CHECK_MS of a tenure. */
const NOTICES_WITHIN_MS = 10;
const NOTICES_SLEEP_WITHIN_MS = 1_000 / SLOWEST_RATE + NOTICES_WITHIN_MS;
/** How long a watch that broke waits before it is begun again. */
const WATCH_AGAIN_MS = 1_000;
/** How long a leader has to keep its term once all is well, in leases. */
const STAYS_LEASES = 0.8;
const LONGEST_TASK_STEP_LEASES = 0.4;
/** No run that goes well has a tenth of these steps. */
const STEP_LIMIT = 50_000;

/** One line of a run's history. */
export interface HistoryLine {
  readonly atMs: number;
  readonly actor: string;
  readonly what: string;
}

/** How one run went. */
export interface RunReport {
  readonly plan: Plan;
  readonly violation: Violation | undefined;
  readonly steps: number;
  readonly requests: number;
  readonly virtualMs: number;
  /** How many terms were given out. */
  readonly terms: number;
  readonly faults: FaultCounts;
  /** Everything that happened, if it was asked for. */
  readonly history: readonly HistoryLine[];
}

/** A leadership as the world sees it. */
interface View {
  readonly candidate: Candidate;
  readonly leadership: Leadership;
}

/** Runs a plan, and checks after every step what must always hold. The same plan gives the same history. */
export async function simulate(plan: Plan, options: { readonly history?: boolean } = {}): Promise<RunReport> {
  return await new Simulation(plan, options.history ?? false).run();
}

/** Nothing waits for anything outside of this process, so what is ready has run once this turn's promises have settled. */
class TrueTime extends VirtualClock {
  override async settle(): Promise<void> {
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }
}

class Simulation implements Witness {
  readonly #plan: Plan;
  readonly #world: VirtualClock;
  readonly #random: SeededRandom;
  readonly #store: SimulatedStore;
  readonly #faults: FaultCounts = new Map();
  readonly #history: HistoryLine[] | undefined;
  /** One for each place in the plan: who has it at present. */
  readonly #seats: Array<Candidate | undefined>;
  readonly #everyone = new Set<Candidate>();
  readonly #views = new Set<View>();
  /** Puts a spoilt record back. */
  #heal: (() => void) | undefined;
  /** What is put back may be older than what some have seen, and reserved for somebody. */
  #wasSpoilt = false;
  #violation: Violation | undefined;
  #calm = false;
  #steps = 0;
  #requests = 0;
  #processes = 0;
  #highestTerm = 0;
  #terms = 0;
  #highestWritten = 0;
  /** Terms up to this one may have been broken without waiting for their holders. */
  #exemptTerm = 0;

  constructor(plan: Plan, keepsHistory: boolean) {
    this.#plan = plan;
    this.#history = keepsHistory ? [] : undefined;
    this.#world = new TrueTime(plan.seed);
    this.#random = new SeededRandom(plan.seed ^ 0x51f15eed);
    this.#store = openStore(plan.store, this.#world, plan.serviceRate, this.#random);
    this.#seats = plan.candidates.map(() => undefined);
    this.#store.view.granted = ({ term, termId, candidateId, reservedFor }) => {
      this.#terms += 1;
      if (reservedFor !== undefined && reservedFor !== candidateId && !this.#wasSpoilt) {
        this.#violate("reservation-holds", `${candidateId} acquires term ${term}, which is reserved for ${reservedFor}`);
      }
      this.note("service", `grants term ${term} (${termId.slice(0, 4)})`);
      if (term <= this.#highestTerm) this.#violate("terms-rise", `term ${term} after term ${this.#highestTerm}`);
      this.#highestTerm = Math.max(this.#highestTerm, term);
    };
    this.#store.view.wroteBroken = (term) => this.#violate("break-holds", `term ${term} was broken`);
    this.#store.view.wrote = ({ term, entry }) => {
      this.note("service", `accepts the write '${entry}' of term ${term}`);
      if (term < this.#highestWritten)
        this.#violate("fence", `a write of term ${term} after one of term ${this.#highestWritten}`);
      // On a blob the fence is the term that wrote last; elsewhere it is the one that leads.
      const isOver = term < this.#highestTerm || !this.#store.held;
      if (isOver && this.#plan.store !== "blob" && !this.#heal) {
        this.#violate("fence", `a write of term ${term}, which was over`);
      }
      this.#highestWritten = Math.max(this.#highestWritten, term);
    };
  }

  get calm(): boolean {
    return this.#calm;
  }

  get keepsHistory(): boolean {
    return this.#history !== undefined;
  }

  async run(): Promise<RunReport> {
    try {
      this.#begin();
      await this.#until(() => this.#calm, this.#plan.calmAtMs);
      await this.#seeRecovery();
      await this.#seeSuccession();
      await this.#seeEnd();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#violation = error;
      this.note("world", `VIOLATION ${error.message}`);
    }
    for (const { clock } of this.#everyone) clock.kill();
    return {
      plan: this.#plan,
      violation: this.#violation,
      steps: this.#steps,
      requests: this.#requests,
      virtualMs: this.#world.monotonicMs(),
      terms: this.#terms,
      faults: this.#faults,
      history: this.#history ?? [],
    };
  }

  leads(candidate: Candidate, leadership: Leadership): void {
    this.#views.add({ candidate, leadership });
    if (this.#plan.asks && !leadership.isValid()) {
      this.#violate("starts-valid", `${candidate.id} in term ${leadership.term}`);
    }
    leadership.signal.addEventListener("abort", () =>
      this.note(candidate.id, `signal of term ${leadership.term} aborts (${String(leadership.signal.reason)})`),
    );
  }

  lost(candidate: Candidate): void {
    if (candidate.elector.isLeader) this.#violate("loss-is-final", `${candidate.id} in term ${candidate.term}`);
  }

  stoppedEarly(candidate: Candidate): void {
    this.#violate("one-task", `${candidate.id} says that its term has stopped, and its task is pending`);
  }

  startedSecondTask(candidate: Candidate): void {
    this.#violate("one-task", `${candidate.id} has ${candidate.pending} tasks pending`);
  }

  gaveUp(candidate: Candidate, error: unknown): void {
    this.#violate(
      "run-goes-on",
      `${candidate.id} gave up: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }

  note(actor: string, what: string): void {
    this.#history?.push({ atMs: this.#world.monotonicMs(), actor, what });
  }

  requested(): void {
    this.#requests += 1;
  }

  count(fault: string): void {
    this.#faults.set(fault, (this.#faults.get(fault) ?? 0) + 1);
  }

  #begin(): void {
    const startMs = this.#world.monotonicMs();
    for (const seat of this.#seats.keys()) {
      this.#at(startMs + this.#random.next() * 0.2 * this.#leaseMs, () => this.#enter(seat, this.#idOf(seat)));
    }
    for (const mishap of this.#plan.mishaps) this.#at(mishap.atMs, () => this.#befall(mishap));
    this.#at(this.#plan.calmAtMs, () => this.#calmDown());
  }

  /** A new process takes a seat. */
  #enter(seat: number, candidateId: string): void {
    const planned = this.#plan.candidates[seat];
    const before = this.#seats[seat];
    if (!planned || before?.clock.alive) return;
    const candidate = this.#process(planned, candidateId);
    this.#seats[seat] = candidate;
    this.note(candidateId, "starts");
    void candidate.live();
  }

  #process(planned: CandidatePlan, candidateId: string): Candidate {
    this.#processes += 1;
    const candidate = new Candidate({
      world: this.#world,
      plan: this.#plan,
      candidate: planned,
      candidateId,
      store: this.#store,
      random: new SeededRandom(this.#plan.seed ^ Math.imul(this.#processes, 0x85ebca6b)),
      witness: this,
    });
    this.#everyone.add(candidate);
    return candidate;
  }

  #befall(mishap: Mishap): void {
    if (this.#calm) return;
    this.count(mishap.kind);
    switch (mishap.kind) {
      case "freeze":
        return this.#freeze(this.#victim(mishap.who), mishap.forMs);
      case "wall-clock-jump":
        return this.#jump(this.#victim(mishap.who), mishap.byMs);
      case "crash":
        return this.#crash(mishap);
      case "stop":
        return this.#stop(mishap);
      case "partition": {
        const victim = this.#victim(mishap.who);
        this.note(victim?.id ?? "nobody", `is cut off (${mishap.side}) for ${Math.round(mishap.forMs)} ms`);
        victim?.link.interrupt({ kind: "partition", side: mishap.side, untilMs: this.#nowMs + mishap.forMs });
        return;
      }
      case "last-renewal":
        return this.#letRenewOnce(this.#victim(mishap.who), mishap);
      case "outage":
        this.note("service", `is away (${mishap.how}) for ${Math.round(mishap.forMs)} ms`);
        for (const { link } of this.#everyone) {
          link.interrupt({ kind: "outage", how: mishap.how, untilMs: this.#nowMs + mishap.forMs });
        }
        return;
      case "resign": {
        const victim = this.#victim(mishap.who);
        this.note(victim?.id ?? "nobody", "is told to resign");
        if (victim?.clock.running) void victim.elector.resign();
        return;
      }
      case "break":
        return this.#break(mishap.immediate);
      case "transfer":
        return this.#transfer(mishap.to, mishap.timeoutMs);
      case "corruption":
        return this.#spoil(mishap.forMs);
      case "store-clock-step":
        this.note("service", `its clock steps by ${mishap.byMs} ms`);
        this.#store.stepClock?.(mishap.byMs);
        return;
      case "cold-call": {
        const planned: CandidatePlan = { ...(this.#plan.candidates[0] as CandidatePlan), expiry: undefined, releaseOnStop: true };
        const caller = this.#process(planned, `cold${this.#processes}`);
        this.note(caller.id, "tries once");
        void caller.callOnce(mishap.taskMs);
      }
    }
  }

  #victim(who: Victim): Candidate | undefined {
    if (who !== "leader") return this.#seats[who];
    const leader = [...this.#views].findLast(
      ({ candidate, leadership }) => candidate.clock.alive && !leadership.signal.aborted && this.#seats.includes(candidate),
    );
    return leader?.candidate ?? this.#seats[0];
  }

  #freeze(victim: Candidate | undefined, forMs: number): void {
    if (!victim?.clock.running) return;
    this.note(victim.id, victim.sleeps ? `is suspended for ${Math.round(forMs)} ms` : `is paused for ${Math.round(forMs)} ms`);
    if (victim.sleeps) victim.clock.suspend();
    else victim.clock.pause();
    this.#at(Math.min(this.#nowMs + forMs, this.#plan.calmAtMs), () => this.#thaw(victim));
  }

  #thaw(victim: Candidate): void {
    if (!victim.clock.alive || victim.clock.running) return;
    this.note(victim.id, "runs again");
    victim.thawed = { atMs: this.#nowMs, slept: victim.sleeps };
    victim.clock.resume();
    // Its very first statement: what its clocks say must be enough, whatever timers are late.
    this.#check();
  }

  #letRenewOnce(victim: Candidate | undefined, { forMs, slowMs }: Extract<Mishap, { kind: "last-renewal" }>): void {
    if (!victim) return;
    this.note(victim.id, `is to be cut off after its next renewal, for ${Math.round(forMs)} ms`);
    victim.link.cutAfterNextWrite(forMs);
    const untilMs = this.#nowMs + victim.elector.timing.renewIntervalMs;
    for (const { link } of this.#everyone) if (link !== victim.link) link.interrupt({ kind: "slow", ms: slowMs, untilMs });
  }

  #jump(victim: Candidate | undefined, byMs: number): void {
    if (!victim) return;
    const fairMs = victim.sleeps ? Math.abs(byMs) : byMs;
    this.note(victim.id, `its wall clock jumps by ${Math.round(fairMs)} ms`);
    victim.clock.jumpWall(fairMs);
  }

  #crash({ who, restartAfterMs, sameId }: Extract<Mishap, { kind: "crash" }>): void {
    const victim = this.#victim(who);
    const seat = this.#seats.indexOf(victim);
    if (!victim || seat < 0) return;
    this.note(victim.id, "crashes");
    victim.clock.kill();
    if (restartAfterMs === undefined) return;
    const candidateId = sameId ? victim.id : `${victim.id}'`;
    this.#at(Math.min(this.#nowMs + restartAfterMs, this.#plan.calmAtMs), () => this.#enter(seat, candidateId));
  }

  #stop({ who, restartAfterMs }: Extract<Mishap, { kind: "stop" }>): void {
    const victim = this.#victim(who);
    const seat = this.#seats.indexOf(victim);
    if (!victim || seat < 0) return;
    this.note(victim.id, "is told to stop");
    victim.told = true;
    victim.clock.deliver(() => victim.stopping.abort(new Error("told to stop")));
    if (restartAfterMs === undefined) return;
    // What has not stopped by then is killed.
    this.#at(Math.min(this.#nowMs + restartAfterMs, this.#plan.calmAtMs), () => {
      victim.clock.kill();
      this.#enter(seat, victim.id);
    });
  }

  #break(immediate: boolean): void {
    this.note("operator", immediate ? "breaks at once" : "breaks");
    const { store } = this.#operator();
    // Until it is known which term it has hit, it may be any.
    if (immediate) this.#exemptTerm = Infinity;
    const exempt = (): void => {
      if (immediate) this.#exemptTerm = this.#highestTerm;
    };
    void store.break(ELECTION, { reason: "why not", immediate }).then(exempt, exempt);
  }

  #transfer(to: number, transferTimeoutMs: number): void {
    const candidateId = this.#seats[to]?.id ?? `c${to}`;
    this.note("operator", `transfers to ${candidateId}, for ${Math.round(transferTimeoutMs)} ms`);
    const { store } = this.#operator();
    void store.transfer(ELECTION, candidateId, { transferTimeoutMs }).then(
      (outcome) => this.note("operator", `transfer: ${outcome}`),
      (error: unknown) => this.note("operator", `transfer: ${String(error)}`),
    );
  }

  /** An administrator's own process, which always gets through. */
  #operator(): ReturnType<SimulatedStore["connect"]> {
    return this.#store.connect(new ProcessClock(this.#world), promptNetwork(1));
  }

  #spoil(forMs: number): void {
    if (this.#heal) return;
    const restore = this.#store.corrupt();
    if (!restore) return;
    this.#wasSpoilt = true;
    this.note("service", `the record is spoilt for ${Math.round(forMs)} ms`);
    const heal = (): void => {
      if (this.#heal !== heal) return;
      this.note("service", "the record is put back");
      restore();
      this.#heal = undefined;
    };
    this.#heal = heal;
    this.#at(this.#nowMs + forMs, heal);
  }

  /** Everything is well from now on. Whoever is to come back does, and at least one candidate competes. */
  #calmDown(): void {
    this.#calm = true;
    this.note("world", "all is calm");
    this.#heal?.();
    for (const candidate of this.#everyone) this.#thaw(candidate);
    if (this.#seated.some((candidate) => this.#competes(candidate))) return;
    this.#seats[0]?.clock.kill();
    this.#enter(0, this.#idOf(0));
  }

  #idOf(seat: number): string {
    return `c${this.#plan.twins && seat === 1 ? 0 : seat}`;
  }

  /** Within the promised time after the last fault somebody leads, and goes on leading. */
  async #seeRecovery(): Promise<void> {
    const deadlineMs = this.#plan.calmAtMs + this.#recoveryMs();
    // What went wrong before may cost a leader its term for as long as a lease.
    await this.#until(() => false, this.#plan.calmAtMs + this.#leaseMs / SLOWEST_RATE);
    await this.#until(() => this.#leader() !== undefined, deadlineMs);
    if (!this.#leader())
      this.#fail("leader-returns", `nobody leads ${Math.round(deadlineMs - this.#plan.calmAtMs)} ms after the last fault`);
    // An administrator's wish may still be under way.
    if (this.#plan.mishaps.some(({ kind }) => kind === "break" || kind === "transfer"))
      await this.#until(() => false, deadlineMs);
    const leader = this.#leader();
    if (!leader)
      this.#fail(
        "leader-returns",
        `nobody leads any more ${Math.round(deadlineMs - this.#plan.calmAtMs)} ms after the last fault`,
      );
    await this.#until(() => leader.leadership.signal.aborted, this.#nowMs + STAYS_LEASES * this.#leaseMs);
    if (leader.leadership.signal.aborted) {
      this.#fail(
        "leader-stays",
        `${leader.candidate.id} lost term ${leader.leadership.term}: ${String(leader.leadership.signal.reason)}`,
      );
    }
    this.#checkEveryoneLooks();
  }

  /** What `timing()` promises from the last renewal on, by the slowest clock, after what may still be pending when the calm begins. */
  #recoveryMs(): number {
    const reserved = this.#plan.mishaps.map((mishap) => (mishap.kind === "transfer" ? mishap.timeoutMs : 0));
    const promised = this.#seated.map(({ elector: { timing } }) => {
      const { crashFailoverMs, leaseDurationMs, retryPeriodMs, attemptTimeoutMs, cooldownMs } = timing;
      // What the promise counts from is the lease of whoever led last.
      const lastLeaseMs = this.#leaseMs - leaseDurationMs;
      return crashFailoverMs + lastLeaseMs + Math.max(retryPeriodMs, 3 * attemptTimeoutMs, cooldownMs);
    });
    const pendingMs = Math.max(RETRY_AFTER_LEASES * this.#leaseMs, WATCH_AGAIN_MS) + LONGEST_TASK_STEP_LEASES * this.#leaseMs;
    return LAST_ARRIVALS_MS + (Math.max(...promised) + pendingMs + Math.max(0, ...reserved)) / SLOWEST_RATE;
  }

  #leader(): View | undefined {
    return [...this.#views].findLast(
      ({ candidate, leadership }) =>
        candidate.clock.running && !leadership.signal.aborted && this.#store.barredUntilMs(leadership.termId) > this.#nowMs,
    );
  }

  #checkEveryoneLooks(): void {
    for (const candidate of this.#seated) {
      if (!this.#competes(candidate)) continue;
      const { retryPeriodMs, attemptTimeoutMs } = candidate.elector.timing;
      const quietMs = (1.1 * this.#leaseMs + retryPeriodMs + 2 * attemptTimeoutMs) / SLOWEST_RATE;
      if (this.#nowMs - candidate.lastRequestMs > quietMs) {
        this.#fail(
          "nobody-is-stuck",
          `${candidate.id} has sent nothing for ${Math.round(this.#nowMs - candidate.lastRequestMs)} ms`,
        );
      }
    }
  }

  /** With nothing else wrong, a leader that stops or dies is succeeded in the time that `timing()` gives for just that. */
  async #seeSuccession(): Promise<void> {
    const leader = this.#leader()?.candidate;
    const others = this.#seated.filter((candidate) => candidate !== leader && this.#competes(candidate));
    const dies = this.#random.chance(0.5);
    if (!leader || others.length === 0 || (!dies && !this.#releases(leader))) return;
    this.note(leader.id, dies ? "crashes, while all is calm" : "is told to stop, while all is calm");
    if (dies) leader.clock.kill();
    else {
      leader.told = true;
      leader.stopping.abort(new Error("told to stop"));
      // Its task's time to drain comes on top.
      await this.#until(() => leader.pending === 0, this.#nowMs + (LONGEST_TASK_STEP_LEASES * this.#leaseMs) / SLOWEST_RATE);
    }
    const led = leader.elector.timing;
    // By the leader's lease and renewals, and by the others' looks and requests.
    const promised = others.map(({ elector: { timing } }) =>
      dies
        ? Math.max(led.crashFailoverMs, timing.crashFailoverMs - timing.leaseDurationMs + led.leaseDurationMs)
        : timing.politeHandoverMs + timing.cooldownMs,
    );
    const fromMs = this.#nowMs;
    const isSucceeded = (): boolean => (this.#leader()?.candidate ?? leader) !== leader;
    await this.#until(isSucceeded, fromMs + Math.max(...promised) / SLOWEST_RATE);
    if (!isSucceeded()) {
      this.#fail(
        "leader-returns",
        `nobody has succeeded ${leader.id} ${Math.round(this.#nowMs - fromMs)} ms after its ${dies ? "crash" : "stop"}`,
      );
    }
  }

  /** Told to stop, everybody does, the leader first, and the lease is free in the end. */
  async #seeEnd(): Promise<void> {
    const running = [...this.#everyone].filter(({ clock, stopped }) => clock.alive && !stopped);
    const leader = this.#leader()?.candidate;
    this.note("world", "everybody is told to stop, the leader first");
    const stop = (candidate: Candidate): void => {
      candidate.told = true;
      candidate.stopping.abort(new Error("told to stop"));
    };
    if (leader) stop(leader);
    // The others are about to take over, or to try.
    await this.#until(() => false, this.#nowMs + this.#random.next() * 1.5 * this.#plan.timing.retryPeriodMs);
    running.forEach(stop);
    await this.#until(() => running.every(({ stopped }) => stopped), this.#nowMs + this.#leaseMs / SLOWEST_RATE);
    const left = running.find(({ stopped }) => !stopped);
    if (left) this.#fail("all-stop", `${left.id} still runs, with ${left.pending} tasks pending`);
    if (running.every((candidate) => this.#releases(candidate)) && this.#store.held) {
      this.#fail("all-stop", "the lease was not released");
    }
  }

  #competes({ clock, told }: Candidate): boolean {
    return clock.alive && !told;
  }

  #releases(candidate: Candidate): boolean {
    return this.#plan.candidates[this.#seats.indexOf(candidate)]?.releaseOnStop ?? true;
  }

  /** Lets time pass, step by step, until something is so, or `limitMs` of the true time. */
  async #until(isSo: () => boolean, limitMs: number): Promise<void> {
    while (!isSo() && (await this.#world.step(limitMs))) {
      this.#steps += 1;
      this.#check();
      this.#checkElectors();
      if (this.#violation) throw this.#violation;
      if (this.#steps > STEP_LIMIT) this.#fail("nothing-spins", `more than ${STEP_LIMIT} steps, and no end`);
    }
    if (!isSo()) await this.#world.advance(Math.max(limitMs - this.#nowMs, 0));
  }

  #check(): void {
    let valid: View | undefined;
    for (const view of this.#views) {
      const { candidate, leadership } = view;
      if (!candidate.clock.alive) {
        this.#views.delete(view);
        continue;
      }
      // One that does not run can do nothing. It is asked as soon as it does.
      if (!candidate.clock.running) continue;
      const isExempt = leadership.term <= this.#exemptTerm;
      const isValid = this.#plan.asks && leadership.isValid();
      if (leadership.signal.aborted && !isValid) {
        if (this.#plan.asks) this.#views.delete(view);
        continue;
      }
      const { stallTimeoutMs = Infinity } = candidate.elector.timing;
      const silentMs = candidate.clock.monotonicMs() - candidate.checkpointMs;
      if (silentMs > stallTimeoutMs + NOTICES_WITHIN_MS && !leadership.signal.aborted && this.#hasHadTime(candidate)) {
        this.#violate("stall-ends", `${candidate.id} in term ${leadership.term}`);
      }
      if (isExempt) continue;
      const isBarred = this.#heal !== undefined || this.#nowMs < this.#store.barredUntilMs(leadership.termId);
      if (isValid) {
        if (!isBarred) this.#violate("lease-covers-validity", `${candidate.id} is valid in term ${leadership.term}`);
        if (valid) {
          const [one, other] = [valid, view].map((each) => `${each.candidate.id} (term ${each.leadership.term})`);
          this.#violate("one-leader", `${one} and ${other}`);
        }
        valid = view;
      }
      if (!isBarred && !leadership.signal.aborted && this.#hasHadTime(candidate)) {
        this.#violate("loss-is-signalled", `${candidate.id} in term ${leadership.term}`);
      }
    }
  }

  /** What an elector says of itself, whatever its tasks were given. */
  #checkElectors(): void {
    if (!this.#plan.asks) return;
    const leading = [...this.#everyone].filter(({ clock, elector }) => clock.running && elector.isLeader);
    const fair = leading.filter(({ term }) => term > this.#exemptTerm);
    if (fair.length > 1) this.#violate("one-leader", `isLeader is true for ${fair.map(({ id }) => id).join(" and ")}`);
  }

  /** Whether a process has run for long enough for its timers to have noticed what its clocks say. */
  #hasHadTime({ thawed }: Candidate): boolean {
    if (!thawed) return true;
    return this.#nowMs - thawed.atMs > (thawed.slept ? NOTICES_SLEEP_WITHIN_MS : NOTICES_WITHIN_MS);
  }

  #violate(invariant: Invariant, what: string): void {
    this.#violation ??= new Violation(invariant, what);
  }

  #fail(invariant: Invariant, what: string): never {
    throw new Violation(invariant, what);
  }

  #at(trueMs: number, act: () => void): void {
    this.#world.setTimer(act, Math.max(trueMs - this.#nowMs, 0));
  }

  get #nowMs(): number {
    return this.#world.monotonicMs();
  }

  /** The longest lease that anybody takes. */
  get #leaseMs(): number {
    return Math.max(...this.#plan.candidates.map(({ leaseDurationMs }) => leaseDurationMs));
  }

  get #seated(): Candidate[] {
    return this.#seats.filter((candidate) => candidate !== undefined);
  }
}
