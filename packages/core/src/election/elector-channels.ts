import { publisher } from "../reporting/diagnostics.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { ElectorEvents } from "./elector-events.ts";
import type { ElectorHealth } from "./elector-health.ts";

/** The `node:diagnostics_channel` of every event of every elector: {@link PublishedEvent}. */
export const EVENT_CHANNEL = "leasehold:event";
/** The channel of every renewal, once it has ended: {@link PublishedRenewal}. */
export const RENEWAL_CHANNEL = "leasehold:renewal";
/** The channel of each election state that a candidate observes: {@link PublishedLook}. */
export const LOOK_CHANNEL = "leasehold:look";

/** An elector, for gauges. Everything is computed from the clocks at each call, and so is correct after a freeze. */
export interface ElectorHandle {
  readonly election: string;
  readonly candidateId: string;
  readonly isLeader: boolean;
  health(): ElectorHealth;
}

export interface Published {
  readonly candidateId: string;
  /** The same object in each message of one elector. It is weak, so that a listener keeps no elector alive. */
  readonly elector: WeakRef<ElectorHandle>;
  readonly monotonicMs: number;
}

export type PublishedEvent = {
  readonly [Name in keyof ElectorEvents]: Published & { readonly name: Name; readonly event: ElectorEvents[Name] };
}[keyof ElectorEvents];

export interface PublishedRenewal {
  readonly election: string;
  readonly candidateId: string;
  readonly term: number;
  readonly durationMs: number;
  /** `ok`, the reason if the lease was lost, or the code of the error: `ERROR` for an error that is not a LeaseholdError. */
  readonly outcome: string;
}

/** The state that a poll, an attempt or a push returned. A failed poll is the event `storeFailed`. */
export interface PublishedLook extends Published {
  readonly election: string;
  readonly snapshot: LeaseSnapshot | undefined;
}

export const publishEvent: (make: () => PublishedEvent) => void = publisher(EVENT_CHANNEL);
export const publishLook: (make: () => PublishedLook) => void = publisher(LOOK_CHANNEL);
export const publishRenewal: (make: () => PublishedRenewal) => void = publisher(RENEWAL_CHANNEL);
