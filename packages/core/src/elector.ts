import { mayAcquire } from "./bar.ts";
import { defaultCandidateId } from "./candidate-id.ts";
import { holderElapsedMs, systemClock, type Clock } from "./clock.ts";
import { publishState, type ElectorState } from "./diagnostics.ts";
import type { ElectorEvents } from "./elector-events.ts";
import {
  AlreadyAbortedError,
  ConfigurationError,
  ElectorBusyError,
  isMisuse,
  LeadershipEndedError,
  TermRegressedError,
  UnsupportedError,
  type StoreError,
} from "./errors.ts";
import { countsAsReturn } from "./task-outcome.ts";
import type { HeldLeadership, Leader, LeaderTask } from "./leadership.ts";
import type { Lease, LeaseSnapshot, LeaseStore, LeaseStoreCapabilities, Reservation } from "./lease-store.ts";
import { Listeners } from "./listeners.ts";
import { LookTimer, type Push } from "./look-timer.ts";
import { checkName, checkReservation, checkValue } from "./names.ts";
import { checkStore, leaderOf, Observer } from "./observer.ts";
import { releaseInTime } from "./release.ts";
import { highestTermSeen, noteTerm } from "./seen-terms.ts";
import { Tenure } from "./tenure.ts";
import { decideTiming, duration, timing, type Timing, type TimingOptions, type TimingReport } from "./timing.ts";

/** The exit code of a process that `onOverrun: 'exit'` ends: EX_SOFTWARE of sysexits.h. */
export const OVERRUN_EXIT_CODE = 70;

/** What every waiting call takes. */
export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ElectorOptions extends TimingOptions {
  readonly store: LeaseStore;
  /** The name that candidates compete for: 1 to 255 bytes of UTF-8, without control characters. */
  readonly election: string;
  /** A label that people can read. @defaultValue `<host>-<pid>-<random>` */
  readonly candidateId?: string | undefined;
  /** What others can read while this candidate leads, for instance its address. */
  readonly value?: string | undefined;
  /** Whether a stopping leader releases the lease, rather than leave it to expire. @defaultValue true */
  readonly releaseOnStop?: boolean | undefined;
  /**
   * What happens when a task is still pending although its time is up: an `overrun` event, or that and the end of this
   * process (exit code 70). A process whose event loop is blocked cannot end itself. @defaultValue 'report'
   */
  readonly onOverrun?: "report" | "exit" | undefined;
  /**
   * How to know that another's lease has expired, on a store that does not judge that itself. `observed`: this process
   * has seen the same renewal for the whole duration. `store-clock`: the store's own clock tells as well, so that a
   * process that has just started can replace a dead leader; `store.capabilities.storeClock` says how far it is trusted.
   * @defaultValue 'store-clock' where that clock is exact, else 'observed'; `tryRun` always uses the clock there is
   */
  readonly expiry?: "observed" | "store-clock" | undefined;
  /**
   * Who sends renewals: a timer, or the task itself when it calls `leadership.renew()`, in a process whose timers cannot
   * be relied on (a function). The task's signal aborts at `renewDeadlineMs` either way. @defaultValue 'scheduled'
   */
  readonly renewal?: "scheduled" | "manual" | undefined;
  /**
   * How long after an acquisition nobody else may acquire, even if the lease is released before: keeps a late twin from
   * doing a quick task again. At most `leaseDurationMs`. @defaultValue 0
   */
  readonly minimumHoldMs?: number | undefined;
  /**
   * The longest that one try of a release may take, of at most two: shorter where the process is about to be frozen or
   * ended. @defaultValue attemptTimeoutMs
   */
  readonly releaseTimeoutMs?: number | undefined;
  /**
   * The group that this candidate is of, and for how long its terms keep the election to that group.
   * @defaultValue none: whoever comes first
   */
  readonly reservation?: Reservation | undefined;
  /** The least term that this candidate may lead: how an administrator heals a record that was lost or restored. */
  readonly minTerm?: number | undefined;
  /** Called when this candidate starts to lead, right before the task. */
  readonly onStartedLeading?: ((event: ElectorEvents["startedLeading"]) => unknown) | undefined;
  /** Called after the task has settled; `leadership.signal` is the early word. */
  readonly onStoppedLeading?: ((event: ElectorEvents["stoppedLeading"]) => unknown) | undefined;
  /** Called whenever another leader is seen, or this candidate becomes it. */
  readonly onNewLeader?: ((leader: Leader | undefined) => unknown) | undefined;
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

/** How `tryRun` went. */
export type TryRunOutcome<T> =
  /** `result` is undefined where the task was stopped by its signal and said so by rejecting. */
  | { readonly elected: true; readonly term: number; readonly result: T | undefined }
  | { readonly elected: false; readonly leader?: Leader | undefined };

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
export class Elector {
  readonly election: string;
  readonly candidateId: string;
  readonly #store: LeaseStore;
  readonly #timing: Timing;
  readonly #options: ElectorOptions;
  readonly #clock: Clock;
  readonly #listeners: Listeners<ElectorEvents>;
  #busyWith: string | undefined;
  #tenure: Tenure | undefined;
  #leader: Leader | undefined;
  /** Set after giving up a term: stand back until a newer one is seen, or until then. */
  #standBack: { readonly term: number; readonly untilMs: number } | undefined;

  /** @throws {ConfigurationError} for anything that cannot work, before any request. */
  constructor(options: ElectorOptions) {
    checkStore((options as Partial<ElectorOptions> | undefined)?.store);
    checkName("election", options.election);
    this.#clock = options.clock ?? systemClock;
    this.#options = options;
    this.#store = options.store;
    this.election = options.election;
    this.candidateId = options.candidateId ?? defaultCandidateId(this.#clock);
    checkName("candidateId", this.candidateId);
    if (options.value !== undefined) checkValue(options.value, options.store.capabilities.maxValueBytes);
    if (options.minTerm !== undefined && (!Number.isSafeInteger(options.minTerm) || options.minTerm < 1)) {
      throw new ConfigurationError(`minTerm is ${options.minTerm}; it must be a whole number from 1.`, {
        election: options.election,
      });
    }
    if (options.onOverrun !== undefined && options.onOverrun !== "report" && options.onOverrun !== "exit") {
      throw new ConfigurationError(`onOverrun is ${JSON.stringify(options.onOverrun)}; it must be 'report' or 'exit'.`);
    }
    checkExpiry(options.expiry, options.store.capabilities);
    if (options.renewal !== undefined && options.renewal !== "scheduled" && options.renewal !== "manual") {
      throw new ConfigurationError(`renewal is ${JSON.stringify(options.renewal)}; it must be 'scheduled' or 'manual'.`);
    }
    if (options.reservation) checkReservations(options.reservation, options.store);
    this.#timing = decideTiming(options, options.store.capabilities);
    checkHold(options.minimumHoldMs, this.#timing.leaseDurationMs);
    if (options.releaseTimeoutMs !== undefined) duration("releaseTimeoutMs", options.releaseTimeoutMs);
    this.#listeners = new Listeners((callback, error) => {
      if (callback !== "callbackFailed") this.#listeners.emit("callbackFailed", { election: this.election, callback, error });
    });
  }

  /** Whether this candidate is the leader at this very moment: computed from the clocks at each look, never remembered. */
  get isLeader(): boolean {
    return this.#tenure?.leadership.isValid() ?? false;
  }

  /** Who led when this candidate last looked. */
  get leader(): Leader | undefined {
    return this.#leader;
  }

  /** The worst-case times that follow from this elector's options and its store. */
  get timing(): TimingReport {
    return timing(this.#options, this.#store.capabilities);
  }

  /** Adds a listener for one kind of event; returns a function that removes it. */
  on<Name extends keyof ElectorEvents>(name: Name, listener: (event: ElectorEvents[Name]) => unknown): () => void {
    return this.#listeners.add(name, listener);
  }

  /**
   * Campaigns, leads, and campaigns again, until the signal aborts; then it drains, releases and resolves. Failures of
   * the store never end it: it steps down in time, and is back when the store is.
   *
   * @throws {ElectorBusyError} if this elector is busy. {ConfigurationError}, {UnsupportedError} if the store can never
   *   hold this election. {AlreadyAbortedError} if the signal has aborted before.
   *   {DrainTimeoutError} if it is to stop and the task does not settle in `drainTimeoutMs`. Else whatever the task
   *   throws while its signal has not aborted, after the lease was released.
   */
  async run(task: LeaderTask<unknown>, options: WaitOptions = {}): Promise<void> {
    checkTask("run", task);
    const { signal, done } = this.#begin("run", options.signal);
    try {
      while (!signal?.aborted) {
        const lease = await this.#campaign(signal);
        if (lease && signal?.aborted) await this.#giveBack(lease);
        else if (lease) await this.#lead(lease, task, signal);
      }
    } finally {
      done();
    }
  }

  /**
   * Campaigns until this candidate leads, and hands the leadership over: renewed until it is disposed of. When the
   * signal aborts after that, so does `leadership.signal`.
   *
   * @throws the signal's reason if it aborts while waiting. {ElectorBusyError}, {AlreadyAbortedError} as `run`.
   */
  async campaign(options: WaitOptions = {}): Promise<HeldLeadership> {
    const { signal, done } = this.#begin("campaign", options.signal);
    try {
      for (;;) {
        const lease = await this.#campaign(signal);
        if (lease && signal?.aborted) await this.#giveBack(lease);
        signal?.throwIfAborted();
        if (!lease) continue;
        const tenure = this.#makeTenure(lease);
        void this.#hold(tenure, tenure.disposed, signal);
        return tenure.leadership;
      }
    } finally {
      done();
    }
  }

  /**
   * One attempt, without waiting: runs the task if this candidate can lead at once. It may use the store's own clock to
   * tell that a lease has expired, so that a process with no memory can replace a dead leader. It does not stand back
   * after an earlier term: each call is the caller's own decision to compete.
   *
   * @throws a `StoreError` if the store fails: nobody leads. The signal's reason if it aborts before the task starts.
   *   Else as `run`.
   */
  async tryRun<T>(task: LeaderTask<T>, options: WaitOptions = {}): Promise<TryRunOutcome<T>> {
    checkTask("tryRun", task);
    const { signal, done } = this.#begin("tryRun", options.signal);
    try {
      const snapshot = await this.#look("store-clock", signal);
      const lease = await this.#attempt(snapshot, "store-clock", signal);
      if (lease && signal?.aborted) await this.#giveBack(lease);
      signal?.throwIfAborted();
      if (!lease) return { elected: false, ...(this.#leader ? { leader: this.#leader } : {}) };
      return { elected: true, term: lease.term, result: await this.#lead(lease, task, signal) };
    } finally {
      done();
    }
  }

  /**
   * Gives up the present term: aborts its signal, waits for the task while the lease is still renewed, releases. The
   * elector then goes on campaigning, after the others had their turn. Does nothing if this candidate does not lead.
   *
   * It waits for the task: a task that awaits it waits for itself. To give up from inside a task, return from it.
   */
  async resign(): Promise<void> {
    const tenure = this.#tenure;
    if (!tenure) return;
    tenure.end(new LeadershipEndedError(this.election, tenure.term, "resigned", "it was resigned."));
    await tenure.finished;
  }

  /** Yields who leads, and again whenever that changes; see {@link Observer.observe}. */
  observe(options: WaitOptions = {}): AsyncGenerator<Leader | undefined, void, undefined> {
    const { retryPeriodMs, attemptTimeoutMs } = this.#timing;
    const observer = new Observer({
      store: this.#store,
      election: this.election,
      retryPeriodMs,
      attemptTimeoutMs,
      clock: this.#clock,
    });
    return observer.observe(options);
  }

  /**
   * Claims the elector for one call. The claim lasts until the call has settled and no task is pending any more.
   *
   * The signal that is given back is linked to the caller's by one listener: many electors may share that one, and each
   * listener more makes adding and removing the others slower.
   */
  #begin(call: string, given: AbortSignal | undefined): { readonly signal: AbortSignal | undefined; readonly done: () => void } {
    if (this.#busyWith) throw new ElectorBusyError(this.election, call, this.#busyWith);
    if (given !== undefined && !(given instanceof AbortSignal)) {
      throw new ConfigurationError(`The signal given to ${call} is not an AbortSignal.`, { election: this.election });
    }
    if (given?.aborted) throw new AlreadyAbortedError(call, given, this.election);
    this.#busyWith = call;
    const linked = new AbortController();
    const onAbort = (): void => linked.abort(given?.reason);
    given?.addEventListener("abort", onAbort, { once: true });
    const free = (): void => {
      given?.removeEventListener("abort", onAbort);
      this.#busyWith = undefined;
      this.#setState("stopped");
    };
    return {
      signal: given && linked.signal,
      done: () => {
        // A leadership held by hand, or a task that is still pending although run has given up waiting for it.
        if (this.#tenure) void this.#tenure.finished.then(free);
        else free();
      },
    };
  }

  /**
   * Waits until this candidate has the lease. Returns `undefined` once the signal has aborted; it may still abort until
   * the caller goes on, who then gives the lease back.
   */
  async #campaign(signal: AbortSignal | undefined): Promise<Lease | undefined> {
    this.#setState("standby");
    this.#listeners.emit("standby", { election: this.election });
    const { retryPeriodMs, leaseDurationMs } = this.#timing;
    const expiry = this.#options.expiry ?? (this.#store.capabilities.storeClock?.exact ? "store-clock" : "observed");
    const looks = new LookTimer(this.#store, this.election, this.#clock, signal);
    try {
      let seen: Push | undefined;
      for (;;) {
        let waitMs: number;
        try {
          const snapshot = seen ? this.#learn(seen.snapshot) : await this.#look(expiry, signal);
          const standBackMs = this.#standBackMs(snapshot);
          const lease = standBackMs > 0 ? undefined : await this.#attempt(snapshot, expiry, signal);
          if (lease || signal?.aborted) return lease;
          waitMs = this.#store.nextLookMs(this.election, retryPeriodMs);
          if (!looks.watching) waitMs = Math.min(waitMs, retryPeriodMs);
          if (standBackMs > 0) waitMs = Math.min(Math.max(waitMs, 1), standBackMs);
        } catch (error) {
          if (signal?.aborted) return undefined;
          if (isMisuse(error)) throw error;
          this.#listeners.emit("storeFailed", { election: this.election, error });
          looks.forget();
          const askedMs = Math.min((error as Partial<StoreError>)?.retryAfterMs ?? 0, leaseDurationMs);
          waitMs = Math.max(askedMs, retryPeriodMs * (0.5 + this.#clock.random() / 2));
        }
        seen = await looks.wait(waitMs);
      }
    } catch (error) {
      if (signal?.aborted) return undefined;
      throw error;
    } finally {
      looks.stop();
    }
  }

  async #look(expiry: "observed" | "store-clock", signal: AbortSignal | undefined): Promise<LeaseSnapshot | undefined> {
    const { attemptTimeoutMs } = this.#timing;
    // Only a term seen before this look was asked for must show in it: looks overtake one another.
    const highest = highestTermSeen(this.#store, this.election);
    const snapshot = this.#learn(await this.#store.read(this.election, { timeoutMs: attemptTimeoutMs, signal, expiry }));
    const term = snapshot?.term ?? 0;
    if (term < highest && (this.#options.minTerm ?? 0) <= highest) throw new TermRegressedError(this.election, term, highest);
    return snapshot;
  }

  #learn(snapshot: LeaseSnapshot | undefined): LeaseSnapshot | undefined {
    noteTerm(this.#store, this.election, snapshot?.term ?? 0);
    this.#setLeader(leaderOf(snapshot));
    return snapshot;
  }

  /** Tries to acquire if that can succeed. A win that comes after the signal aborted, or too late, is released at once. */
  async #attempt(
    snapshot: LeaseSnapshot | undefined,
    expiry: "observed" | "store-clock",
    signal: AbortSignal | undefined,
  ): Promise<Lease | undefined> {
    const { reservation } = this.#options;
    if (!mayAcquire(snapshot, this.candidateId, reservation?.group) || signal?.aborted) return undefined;
    const { leaseDurationMs, renewIntervalMs, renewDeadlineMs, attemptTimeoutMs } = this.#timing;
    // Not given the signal: once it is sent, only its answer tells whether there is anything to release.
    const outcome = await this.#store.acquire({
      election: this.election,
      candidateId: this.candidateId,
      value: this.#options.value,
      leaseDurationMs,
      renewIntervalMs,
      minTerm: this.#options.minTerm,
      aboveTerm: highestTermSeen(this.#store, this.election),
      expiry,
      reservation,
      timeoutMs: attemptTimeoutMs,
    });
    if (!outcome.acquired) {
      if (outcome.current) this.#learn(outcome.current);
      return undefined;
    }
    const { lease } = outcome;
    noteTerm(this.#store, this.election, lease.term);
    if (holderElapsedMs(this.#clock, lease.grantedAt) < renewDeadlineMs) return lease;
    await this.#giveBack(lease);
    return undefined;
  }

  /** Releases a lease on which nobody is to lead: won too late, or after the signal aborted. */
  async #giveBack(lease: Lease): Promise<void> {
    const { attemptTimeoutMs, validForMs } = this.#timing;
    const timeoutMs = (): number => Math.min(attemptTimeoutMs, validForMs - holderElapsedMs(this.#clock, lease.grantedAt));
    await releaseInTime({ clock: this.#clock, store: this.#store, lease, timeoutMs }).catch((error: unknown) => {
      this.#listeners.emit("releaseFailed", { election: this.election, term: lease.term, error });
    });
  }

  #makeTenure(lease: Lease): Tenure {
    const { election } = this;
    const { term } = lease;
    return new Tenure({
      clock: this.#clock,
      store: this.#store,
      lease,
      timing: this.#timing,
      releaseOnStop: this.#options.releaseOnStop ?? true,
      renewal: this.#options.renewal ?? "scheduled",
      minimumHoldMs: this.#options.minimumHoldMs ?? 0,
      releaseTimeoutMs: this.#options.releaseTimeoutMs ?? this.#timing.attemptTimeoutMs,
      hooks: {
        renewed: () => this.#listeners.emit("renewed", { election, term }),
        renewFailed: (error) => this.#listeners.emit("renewFailed", { election, term, error }),
        releaseFailed: (error) => this.#listeners.emit("releaseFailed", { election, term, error }),
        ending: (reason) => {
          this.#setState("ending", term, reason);
          this.#listeners.emit("ending", { election, term, reason });
        },
        overrun: (sinceSignalMs) => this.#overrun(term, sinceSignalMs),
        finished: (reason, released) => this.#finished({ election, term, reason, released }),
      },
    });
  }

  /** Runs the task for one term. Settles once the task has and the lease is given up, or when a stop has waited long enough. */
  async #lead<T>(lease: Lease, task: LeaderTask<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
    const tenure = this.#makeTenure(lease);
    const { leadership } = tenure;
    const started = Promise.withResolvers<void>();
    // The task starts after the tenure does, and settles the tenure even if it throws at once. What its rejection means
    // is decided at that moment: the tenure's own end aborts the signal, too.
    const work = started.promise
      .then(() => task(leadership))
      .catch((error: unknown): undefined => {
        if (!countsAsReturn(error, leadership.signal)) throw error;
      });
    const held = this.#hold(tenure, work, signal);
    started.resolve();
    await Promise.race([held, tenure.stopOverran]);
    return await work;
  }

  /** Keeps a term going until its work has settled and the lease is given up. */
  async #hold(tenure: Tenure, work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
    const { election, candidateId } = this;
    const { term } = tenure;
    this.#tenure = tenure;
    this.#setState("leading", term);
    tenure.start();
    const value = this.#options.value;
    this.#setLeader({ candidateId, term, state: "held", ...(value === undefined ? {} : { value }) });
    this.#listeners.emit("startedLeading", { election, term });
    this.#notify("onStartedLeading", () => this.#options.onStartedLeading?.({ election, term }));
    const stop = (): void => tenure.end(signal?.reason as Error, true);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    await tenure.finish(work);
    signal?.removeEventListener("abort", stop);
  }

  #finished(stopped: ElectorEvents["stoppedLeading"]): void {
    const { term } = stopped;
    this.#tenure = undefined;
    this.#standBack = { term, untilMs: this.#clock.monotonicMs() + this.#timing.cooldownMs };
    if (this.#leader?.term === term) this.#setLeader(undefined);
    this.#listeners.emit("stoppedLeading", stopped);
    this.#notify("onStoppedLeading", () => this.#options.onStoppedLeading?.(stopped));
  }

  /** How much longer this candidate leaves the election to others. */
  #standBackMs(snapshot: LeaseSnapshot | undefined): number {
    if (!this.#standBack) return 0;
    const leftMs = this.#standBack.untilMs - this.#clock.monotonicMs();
    if (leftMs > 0 && (snapshot?.term ?? 0) <= this.#standBack.term) return leftMs;
    this.#standBack = undefined;
    return 0;
  }

  #overrun(term: number, sinceSignalMs: number): void {
    const { election } = this;
    this.#listeners.emit("overrun", { election, term, sinceSignalMs });
    if (this.#options.onOverrun !== "exit") return;
    process.stderr.write(
      `leasehold: the task leading '${election}' (term ${term}) is still pending ${Math.round(sinceSignalMs)} ms after its signal aborted; ending this process (onOverrun: 'exit').\n`,
    );
    process.exit(OVERRUN_EXIT_CODE);
  }

  #setLeader(leader: Leader | undefined): void {
    const before = this.#leader;
    this.#leader = leader;
    if (before?.candidateId === leader?.candidateId && before?.term === leader?.term) return;
    this.#listeners.emit("newLeader", { election: this.election, leader });
    this.#notify("onNewLeader", () => this.#options.onNewLeader?.(leader));
  }

  #notify(callback: string, notify: () => unknown): void {
    this.#listeners.guard(callback, notify);
  }

  #setState(state: ElectorState, term?: number, reason?: Error): void {
    publishState({
      election: this.election,
      candidateId: this.candidateId,
      state,
      ...(term === undefined ? {} : { term }),
      ...(reason === undefined ? {} : { reason: String((reason as Partial<Error> | undefined)?.message ?? reason) }),
      wallMs: this.#clock.wallMs(),
    });
  }
}

function checkTask(call: string, task: unknown): void {
  if (typeof task !== "function") throw new ConfigurationError(`${call} needs a task: a function that takes the leadership.`);
}

/** A reservation without a clock to judge it by would keep a whole group out for ever, or for no time. */
function checkReservations(reservation: Reservation, { name, capabilities }: LeaseStore): void {
  checkReservation(reservation);
  if (capabilities.reservation) return;
  throw new UnsupportedError(`${name} has no clock to judge a reservation by; leave 'reservation' out, or use another store.`);
}

function checkHold(minimumHoldMs: number | undefined, leaseDurationMs: number): void {
  if (minimumHoldMs === undefined || duration("minimumHoldMs", minimumHoldMs, 0) <= leaseDurationMs) return;
  throw new ConfigurationError(
    `minimumHoldMs is ${minimumHoldMs}, longer than the lease itself (leaseDurationMs ${leaseDurationMs}); raise leaseDurationMs.`,
  );
}

function checkExpiry(expiry: string | undefined, { storeClock, expiry: judge }: LeaseStoreCapabilities): void {
  if (expiry !== undefined && expiry !== "observed" && expiry !== "store-clock") {
    throw new ConfigurationError(`expiry is ${JSON.stringify(expiry)}; it must be 'observed' or 'store-clock'.`);
  }
  if (expiry === "store-clock" && judge === "observed" && !storeClock) {
    throw new ConfigurationError("expiry is 'store-clock', and this store has no clock that can be read; leave it out.");
  }
}
