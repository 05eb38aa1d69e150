/** Sends a command and returns its reply, as the client library decodes it. */
export type Send = (command: readonly string[], signal: AbortSignal) => Promise<unknown>;

/** A connection that the store has opened for itself, or the connections to the nodes of a cluster. */
export interface RedisConnection {
  /** Resolves once commands can be sent. Rejects with the error of the client library. */
  readonly ready: Promise<void>;
  /**
   * Sends a command to the server of `key`. Rejects at once if that is impossible now: nothing waits for a connection that is
   * lost. Does not send any more what is still unsent when the signal aborts, as far as the client library can.
   */
  send(key: string, command: readonly string[], signal: AbortSignal): Promise<unknown>;
  /** Returns a function for each server that takes writes. */
  primaries(): Promise<readonly Send[]>;
  /** Resolves once every later message on the channel is certain to be heard. */
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  /** Closes it without sending anything. Requests that are under way reject. */
  close(): void;
}

/** The events of a connection. */
export interface ConnectionEvents {
  /** The connection has ended, for good. */
  readonly ended: (error: Error) => void;
  /** A message came on a channel that was subscribed to. */
  readonly message: (channel: string) => void;
}

/** A client library, and the server or the cluster that the user's client is for. */
export interface RedisDriver {
  /** The command that announces a change: SPUBLISH on a cluster, where PUBLISH goes to each node. */
  readonly publish: "PUBLISH" | "SPUBLISH";
  /** False if no connection of this library listens. */
  readonly pushes?: false;
  /** Begins to open a connection with the settings of the user's client. It never opens itself again. */
  open(events: ConnectionEvents): RedisConnection;
}

/** Adds a listener to an emitter of either library. */
export interface Emitter {
  on(event: string, listener: (...values: never[]) => void): unknown;
}

/** Returns `value` as an error. */
export function errorOf(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}

/** Returns the error for a key whose slot no server of the cluster serves. It has the first word of the server's own answer. */
export function slotNotServed(cause: unknown): Error {
  return new Error("CLUSTERDOWN no server of the cluster serves the slot of this key", { cause });
}

/** Marks a rejection as handled, because its caller may await the promise much later, or never. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Returns a text of a reply; `undefined` for a null. A client may decode texts as bytes. */
export function textOf(value: unknown): string | undefined {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  return value === null || value === undefined ? undefined : String(value as string | number);
}
