import { ConfigurationError, ElectorBusyError, LeadershipEndedError } from "../reporting/errors.ts";
import { Journal } from "../reporting/journal.ts";
import type { Blocker } from "../store/lease-snapshot.ts";
import type { Lease, LeaseStore } from "../store/lease-store.ts";
import { checkCallOptions, checkKnown, sharedClock } from "../store/options.ts";
import { ElectorReporter, type LastSeen } from "./elector-reporter.ts";
import { ActiveCall } from "./active-call.ts";
import {
  checkTask,
  doneOutcome,
  RUN_OPTIONS,
  STOP_OPTIONS,
  WAIT_OPTIONS,
  type RunOptions,
  type StopOptions,
  type TryRunOutcome,
  type WaitOptions,
} from "./calls.ts";
import { Campaign, type CampaignOptions } from "./campaign.ts";
import { CandidateRequests } from "./candidate-requests.ts";
import { defaultCandidateId } from "./candidate-id.ts";
import { healthOf, type ElectorHealth } from "./elector-health.ts";
import type { ElectorEvents } from "./elector-events.ts";
import { EVENT_LINES } from "./event-lines.ts";
import { checkElectorOptions, type ElectorOptions, type ElectorParts } from "./elector-options.ts";
import type { HeldLeadership, Leader, LeadershipOf, LeaderTask } from "./leadership.ts";
import { LeaderTerm, type LeaderTermOptions, type TaskResult } from "./leader-term.ts";
import { Observer } from "./observer.ts";
import { untilPlannedEnd } from "./planned-end.ts";
import { hasQueue, QueuedCampaign } from "./queued-campaign.ts";
import { QuickReturns, untilEnded } from "./quick-returns.ts";
import { Cooldown } from "./cooldown.ts";
import { checkStopOn, onStopSignal } from "./stop-signals.ts";
import { StoreHealth } from "./store-health.ts";
import { StoreShare } from "./store-share.ts";
import { timing, type TimingReport } from "./timing.ts";

/**
 * One candidate in one election.
 *
 * At any instant at most one candidate of an election is valid, by `isLeader` and `leadership.isValid()`. The rates of the
 * candidates' clocks must differ by less than 10%. The candidates themselves may be slow, paused or cut off.
 *
 * A lease cannot stop a write that a paused process sends late. Let the resource check the term for that.
 *
 * @example
 * ```ts
 * const elector = new Elector({ store, election: "nightly-billing" });
 * await elector.run(async (leadership) => {
 *   while (!leadership.signal.aborted) await billNext(leadership.signal);
 * }, { signal });
 * ```
 */
export class Elector<Store extends LeaseStore = LeaseStore> implements AsyncDisposable {
  readonly election: string;
  readonly candidateId: string;
  #report: TimingReport | undefined;
  readonly #parts: CampaignOptions & LeaderTermOptions;
  #call: ActiveCall | undefined;
  /** The present term, until its task has settled and its lease is given up. */
  #term: LeaderTerm<LeadershipOf<Store>> | undefined;
  #bar: Blocker | undefined;

  /** @throws {ConfigurationError} for anything that cannot work. No request is sent. */
  constructor(options: ElectorOptions<Store>) {
    const decided = checkElectorOptions(options);
    const { store, election } = options;
    const clock = sharedClock(store, options.clock);
    this.election = election;
    this.candidateId = options.candidateId ?? defaultCandidateId(clock);
    const common: ElectorParts = {
      election,
      candidateId: this.candidateId,
      clock,
      store,
      contact: new StoreHealth(store, election, clock),
      timing: decided,
      wishes: options,
      journal: Journal.to(options.logger),
      cooldown: new Cooldown(clock, decided.cooldownMs),
    };
    common.journal.keptFor(this);
    store.warnings?.join(common.journal);
    const reporter = new ElectorReporter({ ...common, elector: this });
    const candidacy = new CandidateRequests({
      ...common,
      onSeen: (snapshot) => {
        this.#bar = snapshot?.bar;
        reporter.saw(snapshot);
      },
      onReleaseFailed: (term, error) => reporter.emit("releaseFailed", { term, error }),
    });
    this.#parts = {
      ...common,
      candidacy,
      reporter,
      expiry: options.expiry,
      failsFast: options.startup !== "patient",
      onStoreFailed: (error) => reporter.emit("storeFailed", { error }),
      owner: this,
      onFinished: () => void (this.#term = undefined),
    };
  }

  /** Computed from the clocks at each call, never stored. */
  get isLeader(): boolean {
    return this.#term?.leadership.isValid() === true;
  }

  /** The leader at the last poll, which may be this candidate; undefined if nobody led, or before the first poll. */
  get leader(): Leader | undefined {
    return this.#parts.reporter.leader;
  }

  /** As `leader`, with the age of that poll; undefined before the first poll. A leader must use `isLeader` instead. */
  get lastSeen(): LastSeen | undefined {
    return this.#parts.reporter.lastSeen;
  }

  /** The state of this elector and of its store at this moment, for health checks. JSON can hold it. */
  health(): ElectorHealth {
    return healthOf(this.#parts, this.#term);
  }

  /** The worst-case times that follow from this elector's options and its store. */
  get timing(): TimingReport {
    return (this.#report ??= timing(this.#parts.wishes, this.#parts.store.capabilities));
  }

  /** Adds a listener, and returns a function that removes it. @throws {ConfigurationError} for an unknown event. */
  on<Name extends keyof ElectorEvents>(name: Name, listener: (event: ElectorEvents[Name]) => unknown): () => void {
    checkKnown("Elector has no event", name, EVENT_LINES);
    if (typeof listener !== "function") throw new ConfigurationError(`The listener for '${name}' is not a function.`);
    return this.#parts.reporter.on(name, listener);
  }

  /**
   * Campaigns, leads, and campaigns again, until the signal aborts, a signal of `stopOn` comes or `stop` is called. Then it
   * drains, releases and resolves.
   *
   * Use it for work that goes on. A task that returns gives its term up, and is called again in a later term. If the task returns
   * at once twice in a row, the elector warns, and `retryPeriodMs` pass between two terms from then on. Without a task, the
   * elector leads until it is stopped; the program then checks `isLeader`.
   *
   * Once the store has accepted a write of this election, store failures never make `run` reject: the elector steps down in time,
   * and competes again. The task is never called on a term that is over or ending. At least 0.1 s pass between two terms.
   *
   * @throws {ElectorBusyError} if this elector is busy.
   * @throws {ConfigurationError | UnsupportedError} if the store can never hold this election.
   * @throws {StoreError} if the store has refused every request for a whole lease, before its first accepted write; see
   *   `startup`.
   * @throws {AlreadyAbortedError} if the signal has already aborted.
   * @throws {DrainTimeoutError} if the elector is stopping and the task does not settle in `drainTimeoutMs`.
   * @throws any error that the task throws before its signal aborts, after the lease was released.
   */
  async run(task: LeaderTask<unknown, LeadershipOf<Store>> = untilEnded, options: RunOptions = {}): Promise<void> {
    checkTask("run", task);
    const { election } = this;
    const returns = new QuickReturns(this.#parts);
    const counted = returns.counted(task);
    checkStopOn(options?.stopOn);
    const call = this.#busyWith("run", options, RUN_OPTIONS);
    const { signal } = call;
    const endListening = onStopSignal(options.stopOn ?? [], () => call.stop(election));
    try {
      while (!signal.aborted) {
        this.#standBy();
        await this.#parts.cooldown.pause(signal, returns.pauseMs);
        if (signal.aborted) return;
        const lease = await this.#campaign(signal);
        if (lease) await this.#lead(lease, counted, signal);
      }
    } finally {
      endListening();
      this.#settled();
    }
  }

  /**
   * Campaigns until this candidate leads, and returns the leadership. The lease is renewed until the leadership is disposed of.
   * If the signal aborts after that, `leadership.signal` aborts, too. The cooldown of an earlier term applies.
   * @throws the signal's reason if it aborts while waiting. Otherwise as `run`.
   */
  async campaign(options: WaitOptions = {}): Promise<HeldLeadership & LeadershipOf<Store>> {
    const { signal } = this.#busyWith("campaign", options);
    try {
      for (;;) {
        this.#standBy();
        const lease = await this.#campaign(signal);
        const leadership = lease && (await this.#hold(lease, signal));
        if (leadership) return leadership;
        await this.#parts.cooldown.pause(signal);
        signal.throwIfAborted();
      }
    } finally {
      this.#settled();
    }
  }

  /**
   * Makes one attempt, without waiting: runs the task if this candidate can lead at once. A process that has just started can
   * replace a dead leader, if the store has a clock of its own. No cooldown applies. If the term ends before the task is called,
   * the result is that of a candidate that was not elected.
   *
   * @throws {StoreError} if the store fails. If a kept connection has broken, a second try replaces it.
   * @throws the signal's reason if it aborts before the task starts. Otherwise as `run`.
   */
  async tryRun<T>(task: LeaderTask<T, LeadershipOf<Store>>, options: WaitOptions = {}): Promise<TryRunOutcome<T>> {
    checkTask("tryRun", task);
    if (this.#call) return { elected: false, reason: "busy" };
    const { signal } = this.#busyWith("tryRun", options);
    try {
      const lease = await this.#parts.candidacy.attemptNow(signal);
      const led = lease && (await this.#lead(lease, task, signal));
      if (led) return { elected: true, term: lease.term, ...led };
      signal.throwIfAborted();
      if (this.#bar?.kind === "done") return doneOutcome(this.#bar);
      if (this.leader) return { elected: false, leader: this.leader };
      const isHeldBack = !lease && this.#bar !== undefined && this.#bar.kind !== "lease";
      return { elected: false, ...(isHeldBack ? { reason: "held-back" as const } : {}) };
    } finally {
      this.#settled();
    }
  }

  /** As `tryRun`, but returns the leadership; `undefined` if this candidate was not elected, or if this elector is busy. */
  async tryCampaign(options: WaitOptions = {}): Promise<(HeldLeadership & LeadershipOf<Store>) | undefined> {
    if (this.#call) return undefined;
    const { signal } = this.#busyWith("tryCampaign", options);
    try {
      const lease = await this.#parts.candidacy.attemptNow(signal);
      const leadership = lease && (await this.#hold(lease, signal));
      if (!leadership) signal.throwIfAborted();
      return leadership;
    } finally {
      this.#settled();
    }
  }

  /**
   * Gives up the present term, if there is one: aborts its signal, waits for the task while the lease is still renewed, and
   * releases. `run` then campaigns again, after the cooldown. A task that awaits `resign()` waits for itself: let the task return
   * instead. On Node 24 or later the elector warns of such a call.
   */
  async resign(): Promise<void> {
    const term = this.#term;
    if (!term) return;
    term.warnIfInside("resign");
    term.end(new LeadershipEndedError(this.election, term.term, "resigned", "it was resigned."));
    await term.finished;
  }

  /**
   * Ends the call that is under way, if there is one, as an abort of its signal does: a leader drains and releases. Afterwards
   * the elector can be used again. Call it before `process.exit`: a process that ends without it leaves its lease to expire.
   *
   * `stop()` waits for the task, or until a leadership held by hand is disposed of. A task that awaits `stop()` waits for itself.
   * @throws {DrainTimeoutError} if that wait takes longer than `drainTimeoutMs`.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    checkCallOptions("stop", options, STOP_OPTIONS);
    const call = this.#call;
    if (!call) return;
    this.#term?.warnIfInside("stop");
    if (options.planned && this.#term) await untilPlannedEnd(this.#term, this.#parts);
    call.stop(this.election);
    await this.#term?.settled;
    await call.over;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Yields the leader at first, and again at each change; see {@link Observer.observe}. */
  observe(options: WaitOptions = {}): AsyncGenerator<Leader | undefined, void, undefined> {
    const { store, election, clock, wishes, timing: times } = this.#parts;
    const { retryPeriodMs, attemptTimeoutMs } = times;
    return new Observer({ store, election, retryPeriodMs, attemptTimeoutMs, logger: wishes.logger, clock }).observe(options);
  }

  /** Claims this elector for a call. @throws {ElectorBusyError} {AlreadyAbortedError} {ConfigurationError} */
  #busyWith(name: string, options: WaitOptions, known: Readonly<Record<string, true>> = WAIT_OPTIONS): ActiveCall {
    if (this.#call) throw new ElectorBusyError(this.election, name, this.#call.name);
    return (this.#call = new ActiveCall(name, this.election, options, known));
  }

  /** Frees the elector once no task is pending. After a drain timeout `run` has rejected, and its task may still be pending. */
  #settled(): void {
    const free = (): void => {
      this.#call?.free();
      this.#call = undefined;
      this.#parts.contact.end();
      this.#parts.reporter.setState("stopped");
    };
    const term = this.#term;
    if (term) void term.finished.then(free);
    else free();
  }

  /** Runs the task on a lease. Returns `undefined` if the term was over or ending before the task could be called. */
  #lead<T>(lease: Lease, task: LeaderTask<T, LeadershipOf<Store>>, signal: AbortSignal): Promise<TaskResult<T> | undefined> {
    if (!signal.aborted) return this.#begin(lease, signal).run(task);
    return this.#parts.candidacy.giveBack(lease).then(() => undefined);
  }

  async #hold(lease: Lease, signal: AbortSignal): Promise<(HeldLeadership & LeadershipOf<Store>) | undefined> {
    if (signal.aborted) {
      await this.#parts.candidacy.giveBack(lease);
      return undefined;
    }
    const term = this.#begin(lease, signal);
    const held = term.hold();
    if (term.mayWork) return held;
    await held.release();
    return undefined;
  }

  #begin(lease: Lease, signal: AbortSignal): LeaderTerm<LeadershipOf<Store>> {
    const term = new LeaderTerm<LeadershipOf<Store>>(lease, this.#parts);
    this.#term = term;
    term.start(signal);
    return term;
  }

  #standBy(): void {
    this.#parts.reporter.setState("standby");
    this.#parts.reporter.emit("standby", {});
  }

  async #campaign(signal: AbortSignal): Promise<Lease | undefined> {
    const parts = this.#parts;
    const { store, clock, journal } = parts;
    void StoreShare.of(store, clock).reportSettings(this.election, journal);
    const way = hasQueue(store) ? new QueuedCampaign(parts, store, signal) : new Campaign(parts, signal);
    return await way.win();
  }
}
