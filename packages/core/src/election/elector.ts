import { ConfigurationError, isLeaseholdError, LeadershipEndedError } from "../reporting/errors.ts";
import { Journal } from "../reporting/journal.ts";
import type { Blocker } from "../store/lease-snapshot.ts";
import type { Lease, LeaseStore } from "../store/lease-store.ts";
import { checkCallOptions, checkKnown } from "../store/options.ts";
import { sharedClock } from "../store/shared-clock.ts";
import { sleep, type Clock } from "../time/clock.ts";
import { Announcements, type LastSeen } from "./announcements.ts";
import { CallClaim } from "./call-claim.ts";
import { RUN_OPTIONS, STOP_OPTIONS, type RunOptions, type StopOptions, type TryRunOutcome, type WaitOptions } from "./calls.ts";
import { Campaign, type CampaignOptions } from "./campaign.ts";
import { Candidacy } from "./candidacy.ts";
import { defaultCandidateId } from "./candidate-id.ts";
import type { ElectorHealth } from "./elector-health.ts";
import { EVENT_NAMES, type ElectorEvents } from "./elector-events.ts";
import { checkElectorOptions, type ElectorOptions } from "./elector-options.ts";
import type { HeldLeadership, Leader, LeadershipOf, LeaderTask } from "./leadership.ts";
import { LeaderTerm, type LeaderTermOptions, type TaskResult } from "./leader-term.ts";
import { Observer } from "./observer.ts";
import { plannedEndMs } from "./planned-end.ts";
import { hasQueue, QueuedCampaign } from "./queued-campaign.ts";
import { QuickReturns, untilEnded } from "./quick-returns.ts";
import { reportSettings } from "./store-settings.ts";
import { StandingBack } from "./standing-back.ts";
import { checkStopOn, onStopSignal } from "./stop-signals.ts";
import { StoreContact } from "./store-contact.ts";
import { timing, type Timing, type TimingReport } from "./timing.ts";

/**
 * One candidate in one election.
 *
 * At most one candidate of an election is *valid* (its `isLeader`, its `leadership.isValid()`) at any instant, however
 * slow, paused or cut off any of them is, as long as the rates of their clocks differ by less than 10%. What a lease
 * cannot do is stop a write that a paused process sends late: for that, let the resource check the term.
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
  readonly #store: LeaseStore;
  readonly #timing: Timing;
  #report: TimingReport | undefined;
  readonly #options: ElectorOptions;
  readonly #clock: Clock;
  readonly #claim: CallClaim;
  readonly #contact: StoreContact;
  readonly #journal: Journal;
  readonly #announcements: Announcements;
  readonly #candidacy: Candidacy;
  readonly #standingBack: StandingBack;
  readonly #termOptions: LeaderTermOptions;
  /** The present term, until its task has settled and its lease is given up. */
  #term: LeaderTerm<LeadershipOf<Store>> | undefined;
  /** What was seen last to keep candidates out. */
  #bar: Blocker | undefined;

  /** @throws {ConfigurationError} for anything that cannot work, before any request. */
  constructor(options: ElectorOptions<Store>) {
    this.#timing = checkElectorOptions(options);
    this.#options = options;
    this.#store = options.store;
    this.#clock = sharedClock(options.store, options.clock);
    this.election = options.election;
    this.candidateId = options.candidateId ?? defaultCandidateId(this.#clock);
    const { election, candidateId } = this;
    this.#claim = new CallClaim(election);
    this.#contact = new StoreContact(this.#store, election, this.#clock);
    const common = {
      clock: this.#clock,
      store: this.#store,
      contact: this.#contact,
      timing: this.#timing,
      wishes: options,
    };
    const journal = Journal.to(options.logger);
    this.#journal = journal;
    journal.keptFor(this);
    this.#store.warnings?.join(journal);
    const announcements = new Announcements({ elector: this, clock: this.#clock, journal });
    this.#announcements = announcements;
    this.#standingBack = new StandingBack(this.#clock, this.#timing.cooldownMs);
    this.#candidacy = new Candidacy({
      ...common,
      election,
      candidateId,
      onSeen: (snapshot) => {
        this.#bar = snapshot?.bar;
        announcements.saw(snapshot);
      },
      onReleaseFailed: (term, error) => announcements.emit("releaseFailed", { term, error }),
    });
    const standingBack = this.#standingBack;
    const onFinished = (): void => void (this.#term = undefined);
    this.#termOptions = { ...common, announcements, journal, standingBack, owner: this, onFinished };
  }

  /** Reports whether this candidate is the leader at this very moment: computed from the clocks at each call, never stored. */
  get isLeader(): boolean {
    return this.#term?.leadership.isValid() === true;
  }

  /** The leader that this candidate saw last. */
  get leader(): Leader | undefined {
    return this.#announcements.leader;
  }

  /**
   * The leader that this candidate saw last, and how long ago; undefined before its first look. While this candidate leads
   * itself, `isLeader` tells, and the age is that of its term.
   */
  get lastSeen(): LastSeen | undefined {
    return this.#announcements.lastSeen;
  }

  /** The state of this elector and of its store at this very moment: for health checks, in a form that JSON keeps. */
  health(): ElectorHealth {
    const term = this.#term;
    const validForMs = term?.leadership.remainingMs() ?? 0;
    const { state } = this.#announcements;
    return {
      // By the clocks: after a freeze no timer has said so yet.
      state: state === "leading" && validForMs === 0 ? "ending" : state,
      leading: validForMs > 0,
      ...(term ? { term: term.term } : {}),
      validForMs,
      ...this.#contact.health,
      ...(this.#store.members ? { members: this.#store.members() } : {}),
    };
  }

  /** The worst-case times that follow from this elector's options and its store. */
  get timing(): TimingReport {
    return (this.#report ??= timing(this.#options, this.#store.capabilities));
  }

  /**
   * Adds a listener for one kind of event; returns a function that removes it.
   * @throws {ConfigurationError} for an event that there is not, or a listener that is no function.
   */
  on<Name extends keyof ElectorEvents>(name: Name, listener: (event: ElectorEvents[Name]) => unknown): () => void {
    checkKnown("Elector has no event", name, EVENT_NAMES);
    if (typeof listener !== "function") throw new ConfigurationError(`The listener for '${name}' is not a function.`);
    return this.#announcements.on(name, listener);
  }

  /**
   * Campaigns, leads, and campaigns again, until the signal aborts, a signal of `stopOn` comes or `stop` is called; then it drains,
   * releases and resolves. A task that returns gives its term up, and is called again in a later one: this is for work that goes on. One
   * that returns at once, twice, is warned of, and from then on `retryPeriodMs` pass between two terms. Without a task it leads
   * until it is stopped, for a program that asks `isLeader`.
   * Once the store has taken a write of this election, its failures never end it: it steps down in time, and is back when the store is. The task is never called on a
   * term that is over or ending. Between two terms there is a short wait (a tenth of a second), whatever the options.
   *
   * @throws {ElectorBusyError} if this elector is busy. {ConfigurationError}, {UnsupportedError} if the store can never
   *   hold this election. {StoreError} if the store has done nothing but refuse (no rights, no table) for a lease, and never
   *   took a write of this process in this election before, unless `startup` is 'patient'. {AlreadyAbortedError} if the signal has aborted before.
   *   {DrainTimeoutError} if it is to stop and the task does not settle in `drainTimeoutMs`. Else whatever the task
   *   throws while its signal has not aborted, after the lease was released.
   */
  async run(task: LeaderTask<unknown, LeadershipOf<Store>> = untilEnded, options: RunOptions = {}): Promise<void> {
    checkTask("run", task);
    const { election } = this;
    const { retryPeriodMs } = this.#timing;
    const returns = new QuickReturns({ election, clock: this.#clock, journal: this.#journal, retryPeriodMs });
    const counted = returns.counted(task);
    checkStopOn(options?.stopOn);
    const call = this.#claim.begin("run", options, RUN_OPTIONS);
    const { signal } = call;
    const endListening = onStopSignal(options.stopOn ?? [], () => call.stop(election));
    try {
      while (!signal.aborted) {
        this.#standBy();
        await this.#standingBack.pause(signal, returns.pauseMs);
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
   * Campaigns until this candidate leads, and hands the leadership over: renewed until it is disposed of. When the
   * signal aborts after that, so does `leadership.signal`. It stands back for `cooldownMs` after an earlier term, but how
   * soon it is called again is the caller's own decision: with a `cooldownMs` of 0 it may lead again at once.
   *
   * @throws the signal's reason if it aborts while waiting. {ElectorBusyError}, {AlreadyAbortedError} as `run`.
   */
  async campaign(options: WaitOptions = {}): Promise<HeldLeadership & LeadershipOf<Store>> {
    const { signal } = this.#claim.begin("campaign", options);
    try {
      for (;;) {
        this.#standBy();
        const lease = await this.#campaign(signal);
        const leadership = lease && (await this.#hold(lease, signal));
        if (leadership) return leadership;
        await this.#standingBack.pause(signal);
        signal.throwIfAborted();
      }
    } finally {
      this.#settled();
    }
  }

  /**
   * One attempt, without waiting: runs the task if this candidate can lead at once. It may use the store's own clock to
   * tell that a lease has expired, so that a process with no memory can replace a dead leader. It does not stand back
   * after an earlier term: each call is the caller's own decision to compete. A term that is over or ending before the
   * task could be called counts as not elected.
   *
   * @throws a `StoreError` if the store fails: nobody leads. A kept connection that has broken is replaced once. The signal's reason if it aborts before the task starts.
   *   Else as `run`.
   */
  async tryRun<T>(task: LeaderTask<T, LeadershipOf<Store>>, options: WaitOptions = {}): Promise<TryRunOutcome<T>> {
    checkTask("tryRun", task);
    if (this.#claim.call) return { elected: false, reason: "busy" };
    const { signal } = this.#claim.begin("tryRun", options);
    try {
      const lease = await this.#tryTwice(signal);
      const led = lease && (await this.#lead(lease, task, signal));
      if (led) return { elected: true, term: lease.term, ...led };
      signal.throwIfAborted();
      if (this.#bar?.kind === "done") return { elected: false, reason: "done" };
      if (this.leader) return { elected: false, leader: this.leader };
      const isHeldBack = !lease && this.#bar !== undefined && this.#bar.kind !== "lease";
      return { elected: false, ...(isHeldBack ? { reason: "held-back" as const } : {}) };
    } finally {
      this.#settled();
    }
  }

  /**
   * One attempt, as `tryRun`'s, which hands the leadership over as `campaign` does; `undefined` where this candidate was not
   * elected, or this elector was at work already.
   */
  async tryCampaign(options: WaitOptions = {}): Promise<(HeldLeadership & LeadershipOf<Store>) | undefined> {
    if (this.#claim.call) return undefined;
    const { signal } = this.#claim.begin("tryCampaign", options);
    try {
      const lease = await this.#tryTwice(signal);
      const leadership = lease && (await this.#hold(lease, signal));
      if (!leadership) signal.throwIfAborted();
      return leadership;
    } finally {
      this.#settled();
    }
  }

  /**
   * Gives up the present term: aborts its signal, waits for the task while the lease is still renewed, releases. The
   * elector then goes on campaigning, after the others had their turn. Does nothing if this candidate does not lead.
   *
   * It waits for the task: a task that awaits it waits for itself, which is warned of. To give up from inside a task, return from it.
   */
  async resign(): Promise<void> {
    const term = this.#term;
    if (!term) return;
    term.warnIfInside("resign");
    term.end(new LeadershipEndedError(this.election, term.term, "resigned", "it was resigned."));
    await term.finished;
  }

  /**
   * Ends whatever call is under way, as the abort of its signal does: a leader drains and releases. Afterwards the elector can
   * be used again. Does nothing where no call is under way.
   *
   * It waits for the task, or for a leadership held by hand to be disposed of: who awaits it inside of either waits for
   * himself. Call it before `process.exit`: a process that ends without it leaves its lease to run out.
   * @throws {DrainTimeoutError} if that takes longer than `drainTimeoutMs`.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    checkCallOptions("stop", options, STOP_OPTIONS);
    const { planned = false } = options;
    const { call } = this.#claim;
    if (!call) return;
    this.#term?.warnIfInside("stop");
    if (planned) await this.#untilPlannedEnd();
    call.stop(this.election);
    await this.#term?.settled;
    await call.over;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Yields who leads, and again whenever that changes; see {@link Observer.observe}. */
  observe(options: WaitOptions = {}): AsyncGenerator<Leader | undefined, void, undefined> {
    const { retryPeriodMs, attemptTimeoutMs } = this.#timing;
    const observer = new Observer({
      store: this.#store,
      election: this.election,
      retryPeriodMs,
      attemptTimeoutMs,
      logger: this.#options.logger,
      clock: this.#clock,
    });
    return observer.observe(options);
  }

  /** Waits until a leader had best stop, unless its term ends before that. */
  async #untilPlannedEnd(): Promise<void> {
    const term = this.#term;
    const { releaseOnStop = true, renewal } = this.#options;
    // Nothing is released, nobody renews on the grid that standbys aim at, or nobody looks at all.
    if (!term?.mayWork || !releaseOnStop || renewal === "manual" || hasQueue(this.#store)) return;
    const inMs = plannedEndMs(this.#clock.monotonicMs(), term.grantedAt, this.#timing, this.#store.capabilities);
    if (inMs > 0) await sleep(this.#clock, inMs, term.leadership.signal).catch(() => undefined);
  }

  /** Frees the elector, once no task is pending any more: `run` may have given up waiting for it, or it is held by hand. */
  #settled(): void {
    const free = (): void => {
      this.#claim.free();
      this.#contact.end();
      this.#announcements.setState({ state: "stopped" });
    };
    const term = this.#term;
    if (term) void term.finished.then(free);
    else free();
  }

  /**
   * Tries a second time, within the time of one attempt, where the store answered last and a connection has broken since. A function that was
   * frozen between two calls finds its kept connections closed, of which the first request after the thaw learns.
   */
  async #tryTwice(signal: AbortSignal): Promise<Lease | undefined> {
    const startMs = this.#clock.monotonicMs();
    const { isWell } = this.#contact;
    try {
      return await this.#try(signal);
    } catch (error) {
      const tookMs = this.#clock.monotonicMs() - startMs;
      const isBroken = isWell && isLeaseholdError(error, "STORE_UNAVAILABLE") && tookMs < this.#timing.attemptTimeoutMs;
      if (!isBroken || signal.aborted) throw error;
      return await this.#try(signal);
    }
  }

  /** One look and, where it shows a chance, one attempt. */
  async #try(signal: AbortSignal): Promise<Lease | undefined> {
    const snapshot = await this.#candidacy.look("store-clock", signal);
    const mayTry = this.#candidacy.mayTry(snapshot) && !signal.aborted;
    return mayTry ? await this.#candidacy.attempt("store-clock") : undefined;
  }

  /** Runs the task on a lease; `undefined` where it could not be called, because its term was over, or ending, before that. */
  #lead<T>(lease: Lease, task: LeaderTask<T, LeadershipOf<Store>>, signal: AbortSignal): Promise<TaskResult<T> | undefined> {
    if (!signal.aborted) return this.#begin(lease, signal).run(task);
    return this.#candidacy.giveBack(lease).then(() => undefined);
  }

  /** Hands a lease over as a leadership; `undefined` where its term was over, or ending, before that. */
  async #hold(lease: Lease, signal: AbortSignal): Promise<(HeldLeadership & LeadershipOf<Store>) | undefined> {
    if (signal.aborted) {
      await this.#candidacy.giveBack(lease);
      return undefined;
    }
    const term = this.#begin(lease, signal);
    const held = term.hold();
    if (term.mayWork) return held;
    await held.release();
    return undefined;
  }

  #begin(lease: Lease, signal: AbortSignal): LeaderTerm<LeadershipOf<Store>> {
    const term = new LeaderTerm<LeadershipOf<Store>>(lease, this.#termOptions);
    this.#term = term;
    term.start(signal);
    return term;
  }

  #standBy(): void {
    this.#announcements.setState({ state: "standby" });
    this.#announcements.emit("standby", {});
  }

  /** Waits until this candidate has the lease; `undefined` once the signal has aborted. */
  async #campaign(signal: AbortSignal): Promise<Lease | undefined> {
    void reportSettings(this.#store, this.election, this.#journal);
    const campaign: CampaignOptions = {
      candidacy: this.#candidacy,
      contact: this.#contact,
      standingBack: this.#standingBack,
      store: this.#store,
      election: this.election,
      clock: this.#clock,
      timing: this.#timing,
      expiry: this.#options.expiry,
      failsFast: this.#options.startup !== "patient",
      journal: this.#journal,
      onStoreFailed: (error) => this.#announcements.emit("storeFailed", { error }),
    };
    const way = hasQueue(this.#store) ? new QueuedCampaign(campaign, this.#store, signal) : new Campaign(campaign, signal);
    return await way.win();
  }
}

function checkTask(call: string, task: unknown): void {
  if (call === "run" && task instanceof Object && typeof task !== "function") {
    throw new ConfigurationError("run takes its options second. To lead until stopped, call run(undefined, { signal }).");
  }
  if (typeof task !== "function") throw new ConfigurationError(`${call} needs a task: a function that takes the leadership.`);
}
