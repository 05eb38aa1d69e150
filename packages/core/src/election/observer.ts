import type { Clock } from "../time/clock.ts";
import { AlreadyAbortedError, ConfigurationError, isMisuse, isStoreFailure } from "../reporting/errors.ts";
import { Journal, type LoggerOption } from "../reporting/journal.ts";
import { checkCallOptions, checkOptions, checkSignal, defineOptions, sharedClock } from "../store/options.ts";
import { WAIT_OPTIONS, type WaitOptions } from "./calls.ts";
import type { Leader } from "./leadership.ts";
import { StoreHealth, type ContactHealth } from "./store-health.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { PollRateLimit, PollTimer, type PollTimerOptions } from "./poll-timer.ts";
import { checkName } from "../store/names.ts";
import { DEFAULT_LEASE_MS, DEFAULT_REQUEST_TIMEOUT_MS, DEFAULT_RETRY_PERIOD_MS, duration } from "../store/lease-limits.ts";

export interface ObserverOptions {
  readonly store: LeaseStore;
  readonly election: string;
  /** The longest wait between two polls on a store that cannot push. @defaultValue 2_000 */
  readonly retryPeriodMs?: number | undefined;
  /** The longest time for one poll. @defaultValue 5_000 */
  readonly attemptTimeoutMs?: number | undefined;
  readonly logger?: LoggerOption;
  /** @defaultValue the store's clock */
  readonly clock?: Clock | undefined;
}

const OPTIONS = defineOptions<ObserverOptions>()("store election retryPeriodMs attemptTimeoutMs logger clock");

/**
 * Reads who leads, and never competes: it needs read access only.
 *
 * @example
 * ```ts
 * const observer = new Observer({ store, election: "nightly-billing" });
 * for await (const leader of observer.observe({ signal })) console.log(leader?.candidateId ?? "nobody");
 * ```
 */
export class Observer {
  readonly #polling: PollTimerOptions;
  readonly #timeoutMs: number;
  readonly #contact: StoreHealth;

  /** @throws {ConfigurationError} for an unknown option, or a bad name, duration or store. */
  constructor(options: ObserverOptions) {
    checkOptions("Observer", options, OPTIONS);
    checkStore(options.store);
    checkName("election", options.election);
    const { store, election } = options;
    const retryPeriodMs = duration("retryPeriodMs", options.retryPeriodMs ?? DEFAULT_RETRY_PERIOD_MS);
    this.#timeoutMs = duration("attemptTimeoutMs", options.attemptTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS);
    const clock = sharedClock(store, options.clock);
    const journal = Journal.to(options.logger);
    store.warnings?.join(journal);
    this.#contact = new StoreHealth(store, election, clock);
    this.#polling = { store, election, clock, journal, retryPeriodMs, renewIntervalMs: retryPeriodMs };
  }

  health(): ContactHealth {
    return this.#contact.health;
  }

  /**
   * Yields the present leader, and again whenever the candidate, its term, value or `state` changes; `undefined` if nobody leads.
   * Yields nothing while the store does not answer. Ends when the signal aborts.
   * @throws {AlreadyAbortedError} if the signal has already aborted.
   * @throws {ConfigurationError | UnsupportedError} if the store can never hold this election.
   */
  async *observe(options: WaitOptions = {}): AsyncGenerator<Leader | undefined, void, undefined> {
    checkCallOptions("observe", options, WAIT_OPTIONS);
    const { signal } = options;
    const { store, election, clock, retryPeriodMs } = this.#polling;
    checkSignal("observe", signal, election);
    if (signal?.aborted) throw new AlreadyAbortedError("observe", signal, election);
    const polls = new PollTimer(this.#polling, signal);
    const pace = new PollRateLimit(clock, this.#polling);
    let yielded: string | undefined;
    try {
      for (;;) {
        if (pace.waitMs > 0) await polls.pause(pace.waitMs);
        pace.spend();
        polls.polling();
        const seen = await this.#poll(polls.signal);
        if (seen) {
          polls.polled(seen.snapshot);
          const leader = leaderOf(seen.snapshot);
          const key = JSON.stringify(leader ?? null);
          if (key !== yielded) yield leader;
          yielded = key;
        }
        const nextMs = seen ? store.nextLookMs(election, retryPeriodMs) : retryPeriodMs;
        await polls.wait(polls.isPushed ? nextMs : Math.min(nextMs, retryPeriodMs));
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      polls.stop();
      this.#contact.end();
    }
  }

  async #poll(signal: AbortSignal): Promise<{ readonly snapshot: LeaseSnapshot | undefined } | undefined> {
    const { store, election, journal } = this.#polling;
    try {
      const snapshot = await store.read(election, { timeoutMs: this.#timeoutMs, signal });
      this.#contact.answered("read");
      return { snapshot };
    } catch (error) {
      if (isMisuse(error)) throw error;
      if (!signal.aborted && isStoreFailure(error)) {
        this.#contact.failed("read", error);
        this.#contact.report({ journal, leaseDurationMs: DEFAULT_LEASE_MS });
      }
      // An observer goes on through an outage of its store.
      return undefined;
    }
  }
}

export function leaderOf(snapshot: LeaseSnapshot | undefined): Leader | undefined {
  if (!snapshot || snapshot.holder === undefined) return undefined;
  const { state, holder, term, value } = snapshot;
  if (state === "vacant" || state === "expired") return undefined;
  return { candidateId: holder, term, state, ...(value === undefined ? {} : { value }) };
}

/** @throws {ConfigurationError} unless `store` has the functions of a LeaseStore. */
export function checkStore(store: unknown): asserts store is LeaseStore {
  const candidate = store as Partial<LeaseStore> | undefined;
  const complete = (["acquire", "renew", "release", "read", "check", "nextLookMs"] as const).every(
    (name) => typeof candidate?.[name] === "function",
  );
  if (!complete || typeof candidate?.capabilities !== "object" || candidate.capabilities === null) {
    throw new ConfigurationError(
      "store is not a LeaseStore. Make one first, for instance new MemoryLeaseStore() or new BlobLeaseStore({ container }).",
    );
  }
}
