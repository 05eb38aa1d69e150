import { isRefusal } from "../reporting/errors.ts";
import { summarizeError, type ErrorSummary } from "../reporting/redact.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import type { Clock } from "../time/clock.ts";
import type { Reporter } from "./outage-reporter.ts";
import { StoreShare } from "./store-share.ts";

/** The kind of a request. A `write` may change something. Some credentials permit reads only. */
export type RequestKind = "read" | "write";

export interface ContactHealth {
  /** The milliseconds since the store last answered as it should; absent before its first such answer. */
  readonly lastContactAgeMs?: number | undefined;
  /** The last failure; absent if the store has answered since. After a failed write only a write counts as an answer. */
  readonly lastError?: ErrorSummary | undefined;
}

/** The contact of one elector or observer with its store: the last answer, the failure, the proven right to write. */
export class StoreHealth {
  readonly #election: string;
  readonly #clock: Clock;
  readonly #shared: StoreShare;
  #answeredMs: number | undefined;
  #failure: { readonly kind: RequestKind; readonly error: unknown } | undefined;
  #refusedSinceMs: number | undefined;

  constructor(store: LeaseStore, election: string, clock: Clock) {
    this.#election = election;
    this.#clock = clock;
    this.#shared = StoreShare.of(store, clock);
  }

  /** The time for which this call has met only refusals, if no write was ever proven; else `undefined`. */
  get refusedMs(): number | undefined {
    return this.#refusedSinceMs === undefined ? undefined : this.#clock.monotonicMs() - this.#refusedSinceMs;
  }

  /** Reports whether the store answered the last request of this process. If so, a connection may be kept open. */
  get isWell(): boolean {
    return this.#shared.isWell;
  }

  get health(): ContactHealth {
    return {
      ...(this.#answeredMs === undefined ? {} : { lastContactAgeMs: this.#clock.monotonicMs() - this.#answeredMs }),
      ...(this.#failure === undefined ? {} : { lastError: summarizeError(this.#failure.error) }),
    };
  }

  /** Reports whether this process must prove its right to write: it has no proof, or a write has failed. */
  get needsProof(): boolean {
    const { proving } = this.#shared;
    return (!this.#isProven || this.#failure?.kind === "write") && !proving.has(this.#election);
  }

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
    // A successful read does not clear a write failure, because credentials may be read-only.
    if (kind === "read" && this.#failure?.kind === "write") return;
    this.#failure = undefined;
    outages.recovered(this);
    refusals.recovered(this);
  }

  failed(kind: RequestKind, error: unknown): void {
    const { outages, refusals } = this.#shared;
    this.#shared.isWell = false;
    this.#failure = { kind: this.#failure?.kind === "write" ? "write" : kind, error };
    const isRefused = isRefusal(error);
    if (isRefused) {
      refusals.began(this);
      // A refusal is an answer, so it ends an outage.
      outages.recovered(this);
    } else outages.began(this);
    if (this.#isProven || !isRefused) this.#refusedSinceMs = undefined;
    else this.#refusedSinceMs ??= this.#clock.monotonicMs();
  }

  report(reporter: Omit<Reporter, "election">): void {
    if (!this.#failure) return;
    const { error } = this.#failure;
    const { outages, refusals } = this.#shared;
    const failure = isRefusal(error) ? refusals : outages;
    failure.report(error, { ...reporter, election: this.#election });
  }

  end(): void {
    const { outages, refusals } = this.#shared;
    outages.dropped(this);
    refusals.dropped(this);
    this.#refusedSinceMs = undefined;
  }

  get #isProven(): boolean {
    return this.#shared.proven.get(this.#election) === true;
  }
}
