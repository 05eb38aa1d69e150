import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";

/** The `node:diagnostics_channel` on which every state change of every elector is published, as {@link StateChange}. */
export const STATE_CHANNEL = "leasehold:state";
/** The `node:diagnostics_channel` on which every request to a store is published once it has ended, as {@link StoreRequest}. */
export const REQUEST_CHANNEL = "leasehold:request";

export type ElectorState = "standby" | "leading" | "ending" | "stopped";

export interface StateChange {
  readonly election: string;
  readonly candidateId: string;
  readonly state: ElectorState;
  /** The term that began, is ending or has ended. */
  readonly term?: number | undefined;
  readonly reason?: string | undefined;
  /** The time of the change by the wall clock of this process, in milliseconds since the Unix epoch. */
  readonly wallMs: number;
}

export interface StoreRequest {
  readonly store: string;
  readonly election: string;
  /** For instance `get`, `put`, `renew`. */
  readonly operation: string;
  readonly writes: boolean;
  readonly durationMs: number;
  /** `ok`, or the code of the error. */
  readonly outcome: string;
  /** The error's message, without secrets; absent where the outcome is `ok`. */
  readonly message?: string | undefined;
}

export const publishState: (make: () => StateChange) => void = publisher(STATE_CHANNEL);
export const publishRequest: (make: () => StoreRequest) => void = publisher(REQUEST_CHANNEL);

/** Returns a function that publishes on a channel. It calls `make` only if the channel has a subscriber. */
export function publisher(name: string): (make: () => object) => void {
  const messages = channel(name);
  return (make) => {
    if (messages.hasSubscribers) messages.publish(make());
  };
}

/** Calls `listener` with each message of a channel from now on. Returns a function that removes the listener. */
export function listen(name: string, listener: (message: never) => void): () => void {
  const onMessage = (message: unknown): void => listener(message as never);
  subscribe(name, onMessage);
  return () => void unsubscribe(name, onMessage);
}
