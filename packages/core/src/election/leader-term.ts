import { DrainTimeoutError, isLeaseholdError, LeaseLostError } from "../reporting/errors.ts";
import { completionIn } from "../store/kept-result.ts";
import type { CompleteOptions, Lease, OccurrenceStore, RequestLimits } from "../store/lease-store.ts";
import { instantOf, onAbort, type Instant, type Timer } from "../time/clock.ts";
import type { ElectorParts } from "./elector-options.ts";
import { LazyDeferred } from "./lazy-deferred.ts";
import { callTask, isInsideTask, countsAsReturn } from "./inside-task.ts";
import type { HeldLeadership, Leadership, LeaderTask } from "./leadership.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { isLastTryDue, mayRenew, requestLimitMs, validForMs } from "./renewal-timing.ts";
import type { ElectorReporter } from "./elector-reporter.ts";
import { beginTerm, isOverdue, nextTickMs, step } from "./term-machine.ts";
import { canComplete, TermRequests } from "./term-requests.ts";
import type { TermEffect, TermEvent, TermState } from "./term-state.ts";

/** The time that a task has to return after it has called `stop` or `resign` without `await`. */
const INSIDE_GRACE_MS = 100;

export interface LeaderTermOptions extends ElectorParts {
  readonly reporter: ElectorReporter;
  /** The elector. `isInsideTask` recognizes its tasks by this object. */
  readonly owner: object;
  readonly onFinished: () => void;
}

export interface TaskResult<T> {
  readonly result: T | undefined;
}

/** One term of an elector. It carries out the decisions of `term-machine.ts`. */
export class LeaderTerm<Led extends Leadership> {
  /** The leadership that a task receives. It cannot be disposed of: a task ends its term by settling. */
  readonly leadership: Led;
  readonly term: number;
  readonly #options: LeaderTermOptions;
  readonly #lease: Lease;
  readonly #requests: TermRequests;
  readonly #leaseWatch: LeaseWatch;
  readonly #controller = new AbortController();
  readonly #ended = Promise.withResolvers<Error>();
  readonly #disposed = new LazyDeferred<void>();
  readonly #finished = new LazyDeferred<void>();
  readonly #settled = new LazyDeferred<void>();
  #state: TermState;
  #timer: Timer | undefined;
  #timerMs = Infinity;
  #renewal: Promise<void> | undefined;
  #completion: Promise<void> | undefined;
  #stopListening: (() => void) | undefined;

  constructor(lease: Lease, options: LeaderTermOptions) {
    const { clock, store, timing, wishes } = options;
    this.#options = options;
    this.term = lease.term;
    this.#lease = lease;
    this.#requests = new TermRequests({ clock, store, lease });
    this.#leaseWatch = new LeaseWatch(clock, () => this.#on({ type: "woken" }));
    const plan = {
      lease,
      timing,
      renewal: wishes.renewal ?? "scheduled",
      releaseOnStop: wishes.releaseOnStop ?? true,
      minimumHoldMs: wishes.minimumHoldMs ?? 0,
    };
    this.#state = beginTerm(plan, instantOf(clock));
    this.leadership = this.#makeLeadership();
  }

  /** Read before the request that won the lease was sent. The grid of renewals begins at this instant. */
  get grantedAt(): Instant {
    return this.#lease.grantedAt;
  }

  get mayWork(): boolean {
    return this.#checked().phase === "leading";
  }

  /** Resolves when the task has settled and the lease is released or left to expire. */
  get finished(): Promise<void> {
    return this.#finished.promise;
  }

  /** Resolves as `finished` does. Rejects with a {@link DrainTimeoutError} if the elector is stopping and the task has overrun. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Starts the term, and announces it. An abort of `signal` ends the term. */
  start(signal: AbortSignal): void {
    this.#setTimer();
    this.#leaseWatch.start(this.#options.store, this.#lease);
    this.#options.reporter.began(this.term);
    const stop = (reason: Error): void => void this.#on({ type: "end", reason, stops: true });
    this.#stopListening = onAbort(signal, stop);
    if (signal.aborted) stop(signal.reason as Error);
  }

  /** Settles once the lease is given up, or a stop has timed out. Returns `undefined` if the task could not be called. */
  async run<T>(task: LeaderTask<T, Led>): Promise<TaskResult<T> | undefined> {
    const work = this.#work(task);
    this.#awaitWork(work);
    await this.settled;
    return await work;
  }

  hold(): HeldLeadership & Led {
    this.#awaitWork(this.#disposed.promise);
    const release = async (): Promise<void> => {
      this.#disposed.resolve();
      await this.finished;
    };
    return { ...this.leadership, release, [Symbol.asyncDispose]: release };
  }

  end(reason: Error): void {
    this.#on({ type: "end", reason });
  }

  /** Warns after `INSIDE_GRACE_MS` if the task itself made a call that waits for the task, and is still pending. */
  warnIfInside(call: "stop" | "resign"): void {
    const { clock, owner, reporter } = this.#options;
    if (!isInsideTask(owner)) return;
    const timer = clock.setTimer(() => reporter.waitsForItself(this.term, call), INSIDE_GRACE_MS);
    void this.finished.then(() => timer.cancel());
  }

  async #work<T>(task: LeaderTask<T, Led>): Promise<TaskResult<T> | undefined> {
    const context = { owner: this.#options.owner, leadership: this.leadership };
    try {
      return this.mayWork ? { result: await callTask(context, () => task(context.leadership)) } : undefined;
    } catch (error) {
      if (!countsAsReturn(error, context.leadership.signal)) throw error;
      return { result: undefined };
    }
  }

  #awaitWork(work: Promise<unknown>): void {
    void work.then(
      () => this.#on({ type: "work-settled", isFailed: false }),
      () => this.#on({ type: "work-settled", isFailed: true }),
    );
  }

  /** The only place that changes the state. The state changes before the effects, because a listener may call the term again. */
  #on(event: TermEvent, now: Instant = instantOf(this.#options.clock), dueMs = this.#timerMs): TermState {
    const before = this.#state;
    const { term, effects } = step(before, event, now, now.monotonicMs - dueMs);
    this.#state = term;
    if (term.renewal.is === "closed" && before.renewal.is !== "closed") this.#leaseWatch.cancel();
    for (const effect of effects) this.#perform(effect);
    this.#setTimer();
    return this.#state;
  }

  /** Checks the clocks, and returns the state. After a freeze, no timer may have run yet. */
  #checked(): TermState {
    const now = instantOf(this.#options.clock);
    return isOverdue(this.#state, now) ? this.#on({ type: "check" }, now) : this.#state;
  }

  /** A timer that is set for an earlier instant stays. Its tick changes nothing, and sets the timer anew. */
  #setTimer(): void {
    const { clock } = this.#options;
    const now = instantOf(clock);
    const atMs = nextTickMs(this.#state, now);
    if (atMs >= this.#timerMs && atMs !== Infinity) return;
    this.#timer?.cancel();
    this.#timerMs = atMs;
    if (atMs === Infinity) return;
    this.#timer = clock.setTimer(() => this.#tick(), atMs - now.monotonicMs);
  }

  /** A timer may run a little early. The tick then counts as being at the instant for which the timer was set. */
  #tick(): void {
    const { monotonicMs, wallMs } = instantOf(this.#options.clock);
    const dueMs = this.#timerMs;
    const now: Instant = { monotonicMs: Math.max(monotonicMs, dueMs), wallMs };
    this.#timerMs = Infinity;
    this.#on({ type: "tick", dueMs }, now, dueMs);
  }

  #perform(effect: TermEffect): void {
    const { reporter } = this.#options;
    switch (effect.type) {
      case "abort":
        this.#controller.abort(effect.reason);
        this.#ended.resolve(effect.reason);
        return effect.isSilent ? undefined : reporter.ending(this.term, effect.reason);
      case "renew":
        this.#renewal = this.#renew().finally(() => (this.#renewal = undefined));
        return;
      case "announce-renewed":
        return reporter.renewed(this.term);
      case "announce-renew-failed":
        return reporter.renewFailed(this.term, effect.error);
      case "announce-overrun":
        return reporter.overrun(this.term, effect.sinceSignalMs);
      case "announce-blocked":
        return reporter.blocked(this.term, effect.forMs);
      case "give-up-waiting":
        return this.#settled.reject(new DrainTimeoutError(this.#lease.election, this.term, effect.waitedMs));
      case "release":
        return void this.#release(effect.holdMs).then((isReleased) => this.#finish(effect.endReason, isReleased));
      case "finish":
        return this.#finish(effect.endReason, effect.isReleased);
    }
  }

  #finish(reason: Error | undefined, released: boolean): void {
    const { onFinished, cooldown, store, reporter } = this.#options;
    if (!released) store.forget?.(this.#lease);
    onFinished();
    this.#stopListening?.();
    cooldown.ended(this.term, isGivenUp(reason, released));
    reporter.finished(this.term, reason, released);
    this.#finished.resolve();
    this.#settled.resolve();
  }

  get #limits(): RequestLimits {
    return { timeoutMs: requestLimitMs(this.#state, instantOf(this.#options.clock)) };
  }

  get #releaseTimeoutMs(): number {
    const { timing, wishes } = this.#options;
    return wishes.releaseTimeoutMs ?? timing.attemptTimeoutMs;
  }

  async #renew(): Promise<void> {
    const requests = this.#requests;
    try {
      const outcome = await requests.inTurn(async () =>
        mayRenew(this.#checked(), instantOf(this.#options.clock)) ? await requests.renew(this.#limits) : undefined,
      );
      this.#on(outcome ? { type: "renewed", outcome } : { type: "renewal-skipped" });
    } catch (error) {
      this.#on({ type: "renewal-failed", error });
    }
  }

  async #renewIfDue(): Promise<void> {
    this.#assertValid();
    this.#on({ type: "renew-requested" });
    await this.#renewal;
    this.#assertValid();
  }

  #publish(value: string): Promise<void> {
    const { clock, store } = this.#options;
    const requests = this.#requests;
    return requests.publicationInTurn(async () => {
      // If the last try to renew is due, renew first. A renewal may confirm only an older grant; then renew once more.
      for (let tries = 0; tries < 2 && isLastTryDue(this.#checked(), instantOf(clock)); tries += 1) {
        this.#on({ type: "renewed", outcome: await requests.renew(this.#limits), isExtra: true });
      }
      this.#assertValid();
      // A publication extends the lease on most stores, as a renewal does.
      if (this.#state.renewal.is === "closed") throw this.#state.drain?.reason as Error;
      const outcome = await store.publish(this.#lease, value, this.#limits);
      this.#on({ type: "published", outcome });
      this.#assertValid();
      if (!outcome.held) throw this.#state.drain?.reason as Error;
    });
  }

  async #release(holdMs: number): Promise<boolean> {
    try {
      return await this.#requests.release(holdMs, () => Math.min(this.#limits.timeoutMs, this.#releaseTimeoutMs));
    } catch (error) {
      this.#options.reporter.emit("releaseFailed", { term: this.term, error });
      return false;
    }
  }

  /** Sends one completion at a time, and none once the store has confirmed one. */
  async #complete(store: OccurrenceStore, completion?: CompleteOptions["completion"]): Promise<void> {
    if (this.#state.completion === "confirmed") return;
    this.#completion ??= this.#sendCompletion(store, completion).finally(() => (this.#completion = undefined));
    await this.#completion;
  }

  async #sendCompletion(store: OccurrenceStore, completion?: CompleteOptions["completion"]): Promise<void> {
    const checked = completionIn(completion, this.#lease.election, store);
    this.#on({ type: "completing" });
    if (await this.#requests.complete(store, this.#releaseTimeoutMs, checked)) return void this.#on({ type: "completed" });
    // The signal's reason is not the `cause`, because an error with that cause counts as a return of the task.
    throw new LeaseLostError(this.#lease.election, this.term, "taken", "another candidate took it over before it was done.");
  }

  #assertValid(): void {
    const { over } = this.#checked();
    if (over) throw over;
  }

  #makeLeadership(): Led {
    const { election, candidateId, term, termId } = this.#lease;
    const { clock, store, timing } = this.#options;
    const hasStalls = timing.stallTimeoutMs !== undefined;
    const leadership: Leadership = {
      election,
      candidateId,
      term,
      termId,
      signal: this.#controller.signal,
      ended: this.#ended.promise,
      isValid: () => this.#checked().over === undefined,
      remainingMs: () => (this.#checked().over ? 0 : validForMs(this.#state, instantOf(clock))),
      assertValid: () => this.#assertValid(),
      // Does nothing without `stallTimeoutMs`, because a task may call it in its innermost loop.
      checkpoint: () => void (hasStalls && this.#on({ type: "checkpoint" })),
      renew: () => this.#renewIfDue(),
      publish: (value) => this.#publish(value),
      ...(canComplete(store) ? { complete: this.#complete.bind(this, store) } : {}),
    };
    // The store's type decides which leadership this is.
    return leadership as Led;
  }
}

/** A broken term that was released early counts as given up. Otherwise its own leader would be the first to acquire again. */
function isGivenUp(reason: Error | undefined, released: boolean): boolean {
  if (!isLeaseholdError(reason, "LEASE_LOST")) return true;
  return (reason as LeaseLostError).reason === "broken" && released;
}
