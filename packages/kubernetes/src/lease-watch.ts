import { StoreError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { isStatus, STORE_NAME, toStoreError } from "./kubernetes-errors.ts";
import { ANNOTATION, type LeaseObject } from "./lease-object.ts";
import { failureOf, type ApiTransport, type Json } from "./transport.ts";

/** The server ends a watch after this time. So a watch on a dead connection is replaced, too. */
const WATCH_S = 240;
/** The server's end of a watch arrives within this time after {@link WATCH_S}. */
const GRACE_MS = 10_000;
/** A watch that ends within this time has failed, and is not restarted at once. */
const LEAST_MS = 1_000;
const GONE = 410;

/** Watches one Lease. Each request begins with the present state, so it needs no `resourceVersion`, which could be too old. */
export class LeaseWatch {
  readonly #transport: ApiTransport;
  readonly #path: string;
  readonly #clock: Clock;
  #hasBegun = false;
  /** The part of the last event that renewals do not change. */
  #last: string | undefined;

  constructor(transport: ApiTransport, path: string, clock: Clock) {
    this.#transport = transport;
    this.#path = `${path}&timeoutSeconds=${WATCH_S}`;
    this.#clock = clock;
  }

  /**
   * Yields a wake-up when the first watch has begun, and at each event that is not a renewal. A later watch begins with an event
   * of the present state. A wake-up without that event would hide that a gateway blocks events. @throws {StoreError} if the watch
   * fails.
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
      // The server no longer has the next events, or the connection has died. The next watch begins with the present state.
      if (signal.aborted || silence.signal.aborted || isStatus(error, GONE)) return;
      throw toStoreError(error, { operation: "watch", election, writes: false });
    } finally {
      timer.cancel();
      // Ends the watch, because the caller may have stopped before it took the first event.
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

/** The result only filters wake-ups, so a stale annotation causes at most one wake-up too many or too few. */
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
