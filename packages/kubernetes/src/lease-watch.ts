import { StoreError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { isStatus, STORE_NAME, toStoreError } from "./kubernetes-errors.ts";
import { ANNOTATION, type LeaseObject } from "./lease-object.ts";
import { failureOf, type ApiTransport, type Json } from "./transport.ts";

/** The server ends a watch after this time. So a watch whose connection has died without a word is replaced. */
const WATCH_S = 240;
/** The time after that in which the server's end of the watch arrives. */
const GRACE_MS = 10_000;
/** A watch that ends earlier has failed, and is not begun again at once. */
const LEAST_MS = 1_000;
const GONE = 410;

/** Watches one Lease. It begins with the present state each time, so it needs no `resourceVersion` that could be too old. */
export class LeaseWatch {
  readonly #transport: ApiTransport;
  readonly #path: string;
  readonly #clock: Clock;
  #hasBegun = false;
  /** The part of the last event that renewals leave alone. */
  #last: string | undefined;

  constructor(transport: ApiTransport, path: string, clock: Clock) {
    this.#transport = transport;
    this.#path = `${path}&timeoutSeconds=${WATCH_S}`;
    this.#clock = clock;
  }

  /**
   * Yields a wake-up when the first watch stands, and at each event that is no renewal. A later watch begins with an event of the
   * present state. A wake-up without an event would hide that a gateway lets no event through. @throws {StoreError} if it cannot go on.
   */
  async *wakeUps(election: string, signal: AbortSignal): AsyncGenerator<void> {
    while (!signal.aborted) {
      const begunMs = this.#clock.monotonicMs();
      yield* this.#once(election, signal);
      if (signal.aborted) return;
      if (this.#clock.monotonicMs() - begunMs < LEAST_MS) throw ended(election);
    }
  }

  async *#once(election: string, signal: AbortSignal): AsyncGenerator<void> {
    const silence = new AbortController();
    const timer = this.#clock.setTimer(() => silence.abort(), WATCH_S * 1_000 + GRACE_MS);
    try {
      const events = await this.#transport.watch(this.#path, AbortSignal.any([signal, silence.signal]));
      if (!this.#hasBegun) yield;
      this.#hasBegun = true;
      for await (const event of events) if (this.#isNews(event)) yield;
    } catch (error) {
      // The watch was too slow for the server's history, or the connection has died. The next one begins with the present state.
      if (signal.aborted || silence.signal.aborted || isStatus(error, GONE)) return;
      throw toStoreError(error, { operation: "watch", election, writes: false });
    } finally {
      timer.cancel();
      // The caller may have stopped before it took the first event.
      silence.abort();
    }
  }

  #isNews({ type, object }: Json): boolean {
    if (type === "BOOKMARK") return false;
    if (type === "ERROR") {
      const { code } = object as { readonly code?: unknown };
      throw failureOf(typeof code === "number" ? code : 0, object as Json);
    }
    const present = JSON.stringify([type === "DELETED", withoutRenewal(object as LeaseObject)]);
    const isNews = present !== this.#last;
    this.#last = present;
    return isNews;
  }
}

function withoutRenewal({ metadata, spec }: LeaseObject): unknown {
  const { holderIdentity, leaseTransitions } = spec ?? {};
  return [holderIdentity, leaseTransitions, isBroken(metadata?.annotations?.[ANNOTATION])];
}

/** Only filters wake-ups: a stale annotation makes a wake-up more or less. */
function isBroken(annotation: string | undefined): boolean {
  return annotation?.includes('"broken":') === true;
}

function ended(election: string): StoreError {
  const message = `${STORE_NAME}: the server has ended the watch of '${election}' at once.`;
  return new StoreError("STORE_UNAVAILABLE", message, {
    store: STORE_NAME,
    operation: "watch",
    election,
    mayHaveBeenApplied: false,
  });
}
