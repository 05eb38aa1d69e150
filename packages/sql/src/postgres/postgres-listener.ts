import { sleep, type Clock, type JoinedWatch, type WatchCallbacks } from "@leasehold/core/provider";
import { statement } from "./postgres-driver.ts";
import { PostgresConnections } from "./postgres-pool.ts";

/** The channel of NOTIFY. The payload is the election. */
export const CHANNEL = "leasehold";
/** The longest wait until the server has confirmed LISTEN. */
const LISTEN_TIMEOUT_MS = 10_000;
/** The time in which the pool has to give a second connection, for the own notification. */
const SPARE_WITHIN_MS = 1_000;
/** The time in which the listener's own notification has to come. */
const HEARD_WITHIN_MS = 5_000;
/** The wait before a listener that hears nothing notifies itself again. */
const NOTIFY_AGAIN_MS = 60_000;

/** The callbacks of a watch of one election: `changed` at each change, `failed` when the listening ends. */
interface Watcher extends WatchCallbacks {
  readonly election: string;
  readonly store: NotifyingStore;
}

/** A connection that listens, or is about to listen. */
interface Listening {
  /** Resolves once the server is certain to notify every later change. */
  readonly begun: Promise<void>;
  /** Closes the connection, even if it is still being made. */
  readonly stop: () => void;
}

/** The listener's use of one connection, or of the driver's own function to listen. It ends only once. */
interface Use {
  /** Aborts once the use is over. */
  readonly over: AbortController;
  /** Aborts once a notification has come, or the use is over. */
  readonly heard: AbortController;
  /** Ends the listening, once there is something to end. */
  end: (() => void) | undefined;
}

/** A store's means to find out whether its listener hears. */
export interface NotifyingStore {
  /** Notifies the channel, on another connection than the one that listens. */
  notify(signal: AbortSignal): Promise<unknown>;
  /** Called if that notification does not come. It may be called again each minute. */
  notHeard(): void;
}

/** The pool has no connection for the listener's own notification. This says nothing about the connections that it has. */
class NoSpareConnection extends Error {}

const listeners = new WeakMap<object, PostgresListener>();

/**
 * Returns the listener of a handle. All stores on that handle share it, because each listener keeps a connection. For a URL,
 * returns a new listener, which uses the connections `own` if they are given.
 * @throws {ConfigurationError} if `given` is neither a handle nor a URL. The error names the option.
 */
export function listenerOf(
  given: unknown,
  option: "postgres" | "listen",
  clock: Clock,
  own?: PostgresConnections,
): PostgresListener {
  const isUrl = typeof given === "string";
  const known = isUrl ? undefined : listeners.get(given as object);
  if (known) return known;
  // A store closes its own connections. Those of a shared listener stay open for the other stores.
  const connections = (isUrl ? own : undefined) ?? new PostgresConnections(given, undefined, option);
  const listener = new PostgresListener(connections, clock);
  if (!isUrl) listeners.set(given as object, listener);
  return listener;
}

/**
 * Listens for all watches, on one connection or by the driver's own means. It goes on while at least one watch exists.
 *
 * At first it notifies itself. A pooler that shares connections by transaction accepts LISTEN, and lets no notification through. Until
 * one has come, no watch counts as listening, so that its elector polls.
 */
export class PostgresListener {
  readonly connections: PostgresConnections;
  readonly #clock: Clock;
  readonly #watchers = new Set<Watcher>();
  #listening: Listening | undefined;

  constructor(connections: PostgresConnections, clock: Clock) {
    this.connections = connections;
    this.#clock = clock;
  }

  /**
   * Adds a watch. `listening` resolves once the server is certain to notify every later change. It rejects with the driver's
   * error.
   */
  join(watcher: Watcher): JoinedWatch {
    this.#watchers.add(watcher);
    this.#listening ??= this.#listen();
    return { listening: this.#listening.begun, leave: () => this.#leave(watcher) };
  }

  /** Ends all watches of a store. */
  close(store: NotifyingStore): void {
    for (const watcher of [...this.#watchers].filter((one) => one.store === store)) {
      watcher.failed(new Error("The store was closed."));
      this.#leave(watcher);
    }
  }

  #leave(watcher: Watcher): void {
    if (this.#watchers.delete(watcher) && this.#watchers.size === 0) this.#listening?.stop();
  }

  #listen(): Listening {
    const use: Use = { over: new AbortController(), heard: new AbortController(), end: undefined };
    const stop = (): void => {
      use.over.abort(new Error("The listening is over."));
      use.heard.abort();
      this.#listening = undefined;
      use.end?.();
    };
    const beganAt = this.connections.instant();
    const fail = (error: Error): void => {
      if (use.over.signal.aborted) return;
      stop();
      if (!(error instanceof NoSpareConnection)) this.connections.doubt(beganAt);
      for (const { failed } of [...this.#watchers]) failed(error);
    };
    const begun = this.#begin(use, fail).then(() => this.#untilHeard(use));
    begun.catch(fail);
    return { begun, stop };
  }

  async #begin(use: Use, fail: (error: Error) => void): Promise<void> {
    const { listensItself } = this.connections;
    const beginning = listensItself ? this.#listenBy(listensItself, use) : this.#listenOnConnection(use, fail);
    await this.#inTime(beginning);
    await this.#notify(use);
  }

  async #untilHeard(use: Use): Promise<void> {
    const { heard } = use;
    for (;;) {
      for (const waitMs of [HEARD_WITHIN_MS, NOTIFY_AGAIN_MS]) {
        await sleep(this.#clock, waitMs, heard.signal).catch(() => undefined);
        // After the event loop was blocked, this timer runs before Node reads a notification that has come meanwhile. A second
        // timer lets Node read it.
        await sleep(this.#clock, 0, heard.signal).catch(() => undefined);
        if (heard.signal.aborted) return;
        if (waitMs === HEARD_WITHIN_MS) for (const store of this.#stores()) store.notHeard();
      }
      await this.#notify(use);
    }
  }

  #stores(): ReadonlySet<NotifyingStore> {
    return new Set([...this.#watchers].map(({ store }) => store));
  }

  /** Notifies the channel by one of the stores. If that store is closed meanwhile, another one notifies. */
  async #notify({ over }: Use): Promise<void> {
    for (;;) {
      const [store] = this.#stores();
      if (store === undefined || over.signal.aborted) return;
      try {
        return await this.#inTime(store.notify(over.signal), () => this.connections.isExhausted);
      } catch (error) {
        if (this.#stores().has(store)) throw error;
      }
    }
  }

  async #listenBy(listens: NonNullable<PostgresConnections["listensItself"]>, use: Use): Promise<void> {
    const stop = await listens(CHANNEL, {
      notified: (election) => this.#wake(use, (watcher) => watcher.election === election),
      // A driver that connects again has not necessarily heard anything. A wake-up would tell the watches that they listen.
      resumed: () => (use.heard.signal.aborted ? this.#wake(use, () => true) : void this.#notify(use).catch(() => undefined)),
    });
    // The driver's connection may be gone already.
    use.end = () => void stop().catch(() => undefined);
    if (use.over.signal.aborted) use.end();
  }

  async #listenOnConnection(use: Use, fail: (error: Error) => void): Promise<void> {
    const client = await this.connections.get();
    if (use.over.signal.aborted) {
      this.connections.release(client);
      return;
    }
    // The connection has LISTEN in its state at the server, so it must not go back to the pool.
    use.end = () => this.connections.discard(client);
    client.on?.("notification", ({ payload }: { readonly payload?: string }) =>
      this.#wake(use, (watcher) => watcher.election === payload),
    );
    client.on?.("error", fail);
    await client.query(statement(`LISTEN ${CHANNEL}`));
  }

  #wake({ over, heard }: Use, concerns: (watcher: Watcher) => boolean): void {
    if (over.signal.aborted) return;
    heard.abort();
    for (const watcher of [...this.#watchers]) if (concerns(watcher)) watcher.changed();
  }

  /**
   * Rejects once LISTEN, or the own notification, has taken too long. Rejects sooner if `lacksConnection`, because other calls may
   * wait for the connection that listens.
   */
  async #inTime(answer: Promise<unknown>, lacksConnection: () => boolean = () => false): Promise<void> {
    const over = new AbortController();
    const limit = async (): Promise<never> => {
      await sleep(this.#clock, SPARE_WITHIN_MS, over.signal);
      if (lacksConnection())
        throw new NoSpareConnection(
          "The pool has no connection to spare for LISTEN: all others are in use. Give it a higher max.",
        );
      await sleep(this.#clock, LISTEN_TIMEOUT_MS - SPARE_WITHIN_MS, over.signal);
      throw new Error(`LISTEN got no answer within ${LISTEN_TIMEOUT_MS} ms.`);
    };
    await Promise.race([answer, limit()]).finally(() => over.abort());
  }
}
