import { publisher } from "../reporting/diagnostics.ts";
import { isLeaseholdError } from "../reporting/errors.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Lease, RenewOutcome } from "../store/lease-store.ts";
import type { Clock } from "../time/clock.ts";
import type { ElectorEvents } from "./elector-events.ts";
import type { ElectorHealth } from "./elector-health.ts";

/** The `node:diagnostics_channel` on which every event of every elector is published, as {@link PublishedEvent}. */
export const EVENT_CHANNEL = "leasehold:event";
/** The `node:diagnostics_channel` on which every renewal is published once it has ended, as {@link PublishedRenewal}. */
export const RENEWAL_CHANNEL = "leasehold:renewal";
/**
 * The `node:diagnostics_channel` on which each election state that a candidate observes is published, as {@link PublishedLook}.
 */
export const LOOK_CHANNEL = "leasehold:look";

/** An elector, for gauges. Everything is computed from the clocks at each call, and so is correct after a freeze. */
export interface ElectorHandle {
  readonly election: string;
  readonly candidateId: string;
  /** Reports whether it leads at this moment. */
  readonly isLeader: boolean;
  health(): ElectorHealth;
}

/** The facts about the elector in each of its messages. */
export interface Published {
  readonly candidateId: string;
  /** The elector, the same reference each time. It is weak, so that a listener keeps no elector alive. */
  readonly elector: WeakRef<ElectorHandle>;
  /** The time of the message by the elector's monotonic clock. */
  readonly monotonicMs: number;
}

/** An event, with its name. */
export type PublishedEvent = {
  readonly [Name in keyof ElectorEvents]: Published & { readonly name: Name; readonly event: ElectorEvents[Name] };
}[keyof ElectorEvents];

export interface PublishedRenewal {
  readonly election: string;
  readonly candidateId: string;
  readonly term: number;
  readonly durationMs: number;
  /**
   * `ok`, or the reason of the loss if the renewal found the lease lost. After a failure it is the code of the error, or `ERROR`
   * if the error is not a LeaseholdError.
   */
  readonly outcome: string;
}

/**
 * The state that a poll, an attempt or a push of the store returned to a candidate. A failed poll is published as the event
 * `storeFailed`.
 */
export interface PublishedLook extends Published {
  readonly election: string;
  /** Undefined if there was no record. */
  readonly snapshot: LeaseSnapshot | undefined;
}

export const publishEvent: (make: () => PublishedEvent) => void = publisher(EVENT_CHANNEL);
export const publishLook: (make: () => PublishedLook) => void = publisher(LOOK_CHANNEL);
const publishRenewal: (make: () => PublishedRenewal) => void = publisher(RENEWAL_CHANNEL);

/** Sends a renewal, and publishes its outcome. */
export async function publishedRenewal(clock: Clock, lease: Lease, send: () => Promise<RenewOutcome>): Promise<RenewOutcome> {
  const { election, candidateId, term } = lease;
  const sentMs = clock.monotonicMs();
  const publish = (outcome: string): void =>
    publishRenewal(() => ({ election, candidateId, term, durationMs: clock.monotonicMs() - sentMs, outcome }));
  try {
    const renewed = await send();
    publish(renewed.held ? "ok" : renewed.reason);
    return renewed;
  } catch (error) {
    publish(isLeaseholdError(error) ? error.code : "ERROR");
    throw error;
  }
}
