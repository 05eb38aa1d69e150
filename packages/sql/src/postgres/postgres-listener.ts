import { sleep, type Clock, type JoinedWatch, type WatchCallbacks } from "@leasehold/core/provider";
import { statement } from "./postgres-driver.ts";
import type { PostgresConnections } from "./postgres-pool.ts";

/** The channel of NOTIFY. The payload is the election. */
export const CHANNEL = "leasehold";
/** The longest wait until the server has confirmed LISTEN. */
const LISTEN_TIMEOUT_MS = 10_000;
/** The time in which the listener's own notification has to come. */
const HEARD_WITHIN_MS = 5_000;
/** The wait before a listener that hears nothing notifies itself again. */
const NOTIFY_AGAIN_MS = 60_000;

/** The callbacks of a watch of one election: `changed` at each change, `failed` when the listening ends. */
interface Watcher extends WatchCallbacks {
  readonly election: string;
}

/** A connection that listens, or is about to listen. */
interface Listening {
  /** Resolves once the server is certain to notify every later change. */
  readonly begun: Promise<void>;
  /** Closes the connection, even if it is still being made. */
  readonly stop: () => void;
}

/** A use of a connection, or of the driver's own means, that ends once. */
interface Use {
  /** Aborts once the use is over. */
  readonly over: AbortController;
  /** Aborts once a notification has come, or the use is over. */
  readonly heard: AbortController;
  /** Ends the listening, once there is something to end. */
  end: (() => void) | undefined;
}

/** The means of a listener to find out whether it hears. */
export interface OwnNotification {
  /** Notifies the channel, on another connection than the one that listens. */
  notify(signal: AbortSignal): Promise<unknown>;
  /** Called if that notification does not come. It may be called again each minute. */
  notHeard(): void;
}

/**
 * Listens for all watches, on one connection or by the driver's own means. It goes on while at least one watch exists.
 *
 * At first it notifies itself. A pooler that shares connections by transaction accepts LISTEN, and lets no notification through. Until
 * one has come, no watch counts as listening, so that its elector polls.
 */
export class PostgresListener {
  readonly #connections: PostgresConnections;
  readonly #clock: Clock;
  readonly #own: OwnNotification;
  readonly #watchers = new Set<Watcher>();
  #listening: Listening | undefined;

  constructor(connections: PostgresConnections, clock: Clock, own: OwnNotification) {
    this.#connections = connections;
    this.#clock = clock;
    this.#own = own;
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

  /** Ends all watches. */
  close(): void {
    for (const watcher of [...this.#watchers]) {
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
    const beganAt = this.#connections.instant();
    const fail = (error: Error): void => {
      if (use.over.signal.aborted) return;
      stop();
      this.#connections.doubt(beganAt);
      for (const { failed } of [...this.#watchers]) failed(error);
    };
    const begun = this.#begin(use, fail).then(() => this.#untilHeard(use));
    begun.catch(fail);
    return { begun, stop };
  }

  /** Listens, and notifies the channel. */
  async #begin(use: Use, fail: (error: Error) => void): Promise<void> {
    const { listensItself } = this.#connections;
    const beginning = listensItself ? this.#listenBy(listensItself, use) : this.#listenOnConnection(use, fail);
    await this.#inTime(beginning.then(() => use.over.signal.aborted || this.#own.notify(use.over.signal)));
  }

  /** Waits for the first notification. */
  async #untilHeard({ over, heard }: Use): Promise<void> {
    for (;;) {
      for (const waitMs of [HEARD_WITHIN_MS, NOTIFY_AGAIN_MS]) {
        await sleep(this.#clock, waitMs, heard.signal).catch(() => undefined);
        if (heard.signal.aborted) return;
        if (waitMs === HEARD_WITHIN_MS) this.#own.notHeard();
      }
      await this.#inTime(this.#own.notify(over.signal));
    }
  }

  /** Listens by the driver's own means. */
  async #listenBy(listens: NonNullable<PostgresConnections["listensItself"]>, use: Use): Promise<void> {
    const stop = await listens(CHANNEL, {
      notified: (election) => this.#wake(use, (watcher) => watcher.election === election),
      resumed: () => this.#wake(use, () => true),
    });
    // The driver's connection may be gone already.
    use.end = () => void stop().catch(() => undefined);
    if (use.over.signal.aborted) use.end();
  }

  /** Sends LISTEN on a connection of the pool. */
  async #listenOnConnection(use: Use, fail: (error: Error) => void): Promise<void> {
    const client = await this.#connections.get();
    if (use.over.signal.aborted) {
      this.#connections.release(client);
      return;
    }
    // The connection has LISTEN in its state at the server, so it must not go back to the pool.
    use.end = () => this.#connections.discard(client);
    client.on("notification", ({ payload }: { readonly payload?: string }) =>
      this.#wake(use, (watcher) => watcher.election === payload),
    );
    client.on("error", fail);
    await client.query(statement(`LISTEN ${CHANNEL}`));
  }

  #wake({ heard }: Use, concerns: (watcher: Watcher) => boolean): void {
    heard.abort();
    for (const watcher of [...this.#watchers]) if (concerns(watcher)) watcher.changed();
  }

  /** Rejects once LISTEN, or the own notification, has taken too long. */
  async #inTime(answer: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    const limit = async (): Promise<never> => {
      await sleep(this.#clock, LISTEN_TIMEOUT_MS, over.signal);
      throw new Error(`LISTEN got no answer within ${LISTEN_TIMEOUT_MS} ms.`);
    };
    await Promise.race([answer, limit()]).finally(() => over.abort());
  }
}
