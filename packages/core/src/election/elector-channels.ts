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
/** The `node:diagnostics_channel` on which everything that a candidate sees of its election is published, as {@link PublishedLook}. */
export const LOOK_CHANNEL = "leasehold:look";

/** An elector, for gauges: everything is computed from the clocks when it is asked, and so is true after a freeze. */
export interface ElectorHandle {
  readonly election: string;
  readonly candidateId: string;
  /** Reports whether it leads at this very moment. */
  readonly isLeader: boolean;
  health(): ElectorHealth;
}

/** What every message of an elector says of it. */
export interface Published {
  readonly candidateId: string;
  /** The elector, the same reference each time. It is weak, so that who listens keeps no elector alive. */
  readonly elector: WeakRef<ElectorHandle>;
  /** The elector's monotonic clock. */
  readonly monotonicMs: number;
}

/** An event, by its name. */
export type PublishedEvent = {
  readonly [Name in keyof ElectorEvents]: Published & { readonly name: Name; readonly event: ElectorEvents[Name] };
}[keyof ElectorEvents];

export interface PublishedRenewal {
  readonly election: string;
  readonly candidateId: string;
  readonly term: number;
  readonly durationMs: number;
  /** `ok`; the reason of the loss that it found; or the code of the error. */
  readonly outcome: string;
}

/** What a look, an attempt or a push of the store has shown a candidate. A look that failed is an event, `storeFailed`. */
export interface PublishedLook extends Published {
  readonly election: string;
  /** Undefined where there was no record. */
  readonly snapshot: LeaseSnapshot | undefined;
}

export const publishEvent: (make: () => PublishedEvent) => void = publisher(EVENT_CHANNEL);
export const publishLook: (make: () => PublishedLook) => void = publisher(LOOK_CHANNEL);
const publishRenewal: (make: () => PublishedRenewal) => void = publisher(RENEWAL_CHANNEL);

/** Sends a renewal, and publishes how that went. */
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
