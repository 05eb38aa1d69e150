import { asSentence } from "../reporting/discreet.ts";
import { isRefusal } from "../reporting/errors.ts";
import type { Journal } from "../reporting/journal.ts";
import { toldError, type ToldError } from "../reporting/told-error.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import type { Clock } from "../time/clock.ts";

/** Whether a request was to change something: some may read and not write. */
export type RequestKind = "read" | "write";

/** The contact of this process with a store. */
export interface ContactHealth {
  /** The time since the store last answered as it should; absent before it ever has. */
  readonly lastContactAgeMs?: number | undefined;
  /** The last failure, unless the store has answered since. */
  readonly lastError?: ToldError | undefined;
}

/** Somebody whom a failure has met, and who wants it to be known. */
export interface Reporter {
  readonly journal: Journal;
  readonly election: string;
  /** An outage that lasts for so long is reported again. */
  readonly leaseDurationMs: number;
  /** What becomes of the call, where that is not to go on trying. */
  readonly consequence?: string | undefined;
}

interface Failure {
  readonly sinceMs: number;
  readonly kind: RequestKind;
  error: unknown;
  /** Who has been told of it, and whether that it lasts, too. */
  readonly told: Map<Journal, "begun" | "lasting">;
}

/** A failure that follows a recovery sooner than this is reported only if it lasts: a store that comes and goes is one matter. */
const QUIET_MS = 60_000;

const contacts = new WeakMap<LeaseStore, StoreContact>();

/** Returns the contact that all electors and observers of this process on that store share. */
export function contactWith(store: LeaseStore, clock: Clock): StoreContact {
  const contact = contacts.get(store) ?? new StoreContact(store.name, clock);
  contacts.set(store, contact);
  return contact;
}

/**
 * The contact of this process with one store: when it last answered, whether it is known to take our writes, and what has
 * been said of its failures. An outage is reported when it begins, when it has lasted for a lease, and when it is over: once
 * for each store and logger, however many electors there are.
 */
export class StoreContact {
  readonly #storeName: string;
  readonly #clock: Clock;
  #answeredMs: number | undefined;
  #failure: Failure | undefined;
  #recoveredMs = -Infinity;
  #refusedSinceMs: number | undefined;
  /** The store has carried out a write of this process, or refused it for its condition alone. */
  #isProven = false;
  #isProving = false;

  constructor(storeName: string, clock: Clock) {
    this.#storeName = storeName;
    this.#clock = clock;
  }

  /** Returns for how long there was nothing but refusals, before the first write was proven; 0 where there was anything else. */
  get refusedMs(): number {
    return this.#refusedSinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#refusedSinceMs;
  }

  /** Reports whether the store has only refused lately, and has never been known to take a write. */
  get isRefused(): boolean {
    return this.#refusedSinceMs !== undefined;
  }

  get health(): ContactHealth {
    return {
      ...(this.#answeredMs === undefined ? {} : { lastContactAgeMs: this.#clock.monotonicMs() - this.#answeredMs }),
      ...(this.#failure === undefined ? {} : { lastError: toldError(this.#failure.error) }),
    };
  }

  /**
   * Reports whether it is not known, or not known any more, that this process may write, and nobody is about to find out: who
   * only reads would not notice that writes succeed again.
   */
  get needsProof(): boolean {
    return (!this.#isProven || this.#failure?.kind === "write") && !this.#isProving;
  }

  /** Has the right to write proven. Rejects as the proof does. */
  async prove(proof: () => Promise<unknown>): Promise<void> {
    this.#isProving = true;
    try {
      await proof();
      this.answered("write");
    } finally {
      this.#isProving = false;
    }
  }

  answered(kind: RequestKind): void {
    this.#answeredMs = this.#clock.monotonicMs();
    if (kind === "write") {
      this.#isProven = true;
      this.#refusedSinceMs = undefined;
    }
    // Who may read, and not write, is not well yet.
    if (this.#failure && (kind === "write" || this.#failure.kind === "read")) this.#recover(this.#failure);
  }

  failed(kind: RequestKind, error: unknown): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#failure) this.#failure.error = error;
    else this.#failure = { sinceMs: nowMs, kind, error, told: new Map() };
    if (this.#isProven || !isRefusal(error)) this.#refusedSinceMs = undefined;
    else this.#refusedSinceMs ??= nowMs;
  }

  /** Says what is new about the failure: that it has begun, or that it lasts. */
  report({ journal, election, leaseDurationMs, consequence }: Reporter): void {
    const failure = this.#failure;
    if (!failure) return;
    const { sinceMs, error, told } = failure;
    const lastedMs = this.#clock.monotonicMs() - sinceMs;
    const { code, message } = toldError(error);
    const attributes = { store: this.#storeName, election, code, error: message, lastedMs: Math.round(lastedMs) };
    if (lastedMs >= leaseDurationMs && told.get(journal) !== "lasting") {
      told.set(journal, "lasting");
      const text = `The store still fails, for ${seconds(lastedMs)} now. ${message}`;
      journal.warn("LEASEHOLD_STORE_STILL_FAILING", "error", text, attributes);
    } else if (!told.has(journal) && sinceMs - this.#recoveredMs >= QUIET_MS) {
      told.set(journal, "begun");
      const then = consequence ?? "It is asked again until it answers; a leader that cannot renew steps down in time.";
      journal.warn("LEASEHOLD_STORE_FAILED", "warn", `${asSentence(message)} ${then}`, attributes);
    }
  }

  #recover({ sinceMs, told }: Failure): void {
    this.#failure = undefined;
    const lastedMs = this.#clock.monotonicMs() - sinceMs;
    if (told.size > 0) this.#recoveredMs = this.#clock.monotonicMs();
    for (const journal of told.keys()) {
      const attributes = { store: this.#storeName, lastedMs: Math.round(lastedMs) };
      const text = `The ${this.#storeName} store answers again, after ${seconds(lastedMs)}.`;
      journal.warn("LEASEHOLD_STORE_RECOVERED", "info", text, attributes);
    }
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
