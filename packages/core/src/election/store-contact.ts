import { isRefusal } from "../reporting/errors.ts";
import { toldError, type ToldError } from "../reporting/told-error.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import type { Clock } from "../time/clock.ts";
import { Recent } from "../time/recent.ts";
import { SharedFailure, type Reporter } from "./shared-failure.ts";

/** Whether a request was to change something: some may read and not write. */
export type RequestKind = "read" | "write";

/** The contact of an elector or an observer with its store. */
export interface ContactHealth {
  /** The time since the store last answered as it should; absent before it ever has. */
  readonly lastContactAgeMs?: number | undefined;
  /** The last failure, unless the store has answered since. */
  readonly lastError?: ToldError | undefined;
}

/** What all electors and observers of this process on one store share. */
interface Shared {
  readonly outages: SharedFailure;
  /** Apart: rights may be missing for one election alone, for long, and must not hide an outage. */
  readonly refusals: SharedFailure;
  /** The elections of which the store has carried out a write of this process, or refused it for its condition alone. */
  readonly proven: Recent<true>;
  /** The elections of which somebody is about to find out. */
  readonly proving: Set<string>;
  /** The last request of anybody was answered. */
  isWell: boolean;
}

const sharedBy = new WeakMap<LeaseStore, Shared>();

function sharedOn(store: LeaseStore, clock: Clock): Shared {
  const known = sharedBy.get(store);
  if (known) return known;
  const shared = {
    outages: new SharedFailure(store.name, clock),
    refusals: new SharedFailure(store.name, clock),
    proven: new Recent<true>(clock),
    proving: new Set<string>(),
    isWell: false,
  };
  sharedBy.set(store, shared);
  return shared;
}

/**
 * The contact of one elector or observer with its store: when that last answered, how it fails, and whether it is known to take
 * this process's writes of that election. What is said of its failures is said once for all of a store.
 */
export class StoreContact {
  readonly #election: string;
  readonly #clock: Clock;
  readonly #shared: Shared;
  #answeredMs: number | undefined;
  #failure: { readonly kind: RequestKind; readonly error: unknown } | undefined;
  #refusedSinceMs: number | undefined;

  constructor(store: LeaseStore, election: string, clock: Clock) {
    this.#election = election;
    this.#clock = clock;
    this.#shared = sharedOn(store, clock);
  }

  /** The time for which there was nothing but refusals in this call, where no write was ever proven; else `undefined`. */
  get refusedMs(): number | undefined {
    return this.#refusedSinceMs === undefined ? undefined : this.#clock.monotonicMs() - this.#refusedSinceMs;
  }

  /** Reports whether the last request of this process to the store was answered: then there may be a connection that is kept. */
  get isWell(): boolean {
    return this.#shared.isWell;
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
    const { proving } = this.#shared;
    return (!this.#isProven || this.#failure?.kind === "write") && !proving.has(this.#election);
  }

  /** Has the right to write proven. Rejects as the proof does. */
  async prove(proof: () => Promise<unknown>): Promise<void> {
    const { proving } = this.#shared;
    proving.add(this.#election);
    try {
      await proof();
      this.answered("write");
    } finally {
      proving.delete(this.#election);
    }
  }

  answered(kind: RequestKind): void {
    const { outages, refusals, proven } = this.#shared;
    this.#answeredMs = this.#clock.monotonicMs();
    this.#shared.isWell = true;
    if (kind === "write") {
      proven.set(this.#election, true);
      this.#refusedSinceMs = undefined;
    }
    // Who may read, and not write, is not well yet.
    if (kind === "read" && this.#failure?.kind === "write") return;
    this.#failure = undefined;
    outages.spares(this);
    refusals.spares(this);
  }

  failed(kind: RequestKind, error: unknown): void {
    const { outages, refusals } = this.#shared;
    this.#shared.isWell = false;
    this.#failure = { kind: this.#failure?.kind === "write" ? "write" : kind, error };
    const isRefused = isRefusal(error);
    if (isRefused) {
      refusals.meets(this);
      // That is an answer.
      outages.spares(this);
    } else outages.meets(this);
    if (this.#isProven || !isRefused) this.#refusedSinceMs = undefined;
    else this.#refusedSinceMs ??= this.#clock.monotonicMs();
  }

  /** Says what is new about the last failure. */
  report(reporter: Omit<Reporter, "election">): void {
    if (!this.#failure) return;
    const { error } = this.#failure;
    const { outages, refusals } = this.#shared;
    const failure = isRefusal(error) ? refusals : outages;
    failure.report(error, { ...reporter, election: this.#election });
  }

  /** The call is over: the store is asked no more. */
  end(): void {
    const { outages, refusals } = this.#shared;
    outages.loses(this);
    refusals.loses(this);
    this.#refusedSinceMs = undefined;
  }

  get #isProven(): boolean {
    return this.#shared.proven.get(this.#election) === true;
  }
}
