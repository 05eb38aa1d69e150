import { sleep, type Clock, type JoinedWatch, type WatchCallbacks } from "@leasehold/core/provider";
import { statement } from "./postgres-driver.ts";
import type { PostgresConnections } from "./postgres-pool.ts";

/** The channel of NOTIFY. The payload is the election. */
export const CHANNEL = "leasehold";
/** The longest wait until the server has confirmed LISTEN. */
const LISTEN_TIMEOUT_MS = 10_000;

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
  isOver: boolean;
  /** Ends the listening, once there is something to end. */
  end: (() => void) | undefined;
}

/**
 * Listens for all watches, on one connection or by the driver's own means. It goes on while at least one watch exists.
 */
export class PostgresListener {
  readonly #connections: PostgresConnections;
  readonly #clock: Clock;
  readonly #watchers = new Set<Watcher>();
  #listening: Listening | undefined;

  constructor(connections: PostgresConnections, clock: Clock) {
    this.#connections = connections;
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
    const use: Use = { isOver: false, end: undefined };
    const stop = (): void => {
      use.isOver = true;
      this.#listening = undefined;
      use.end?.();
    };
    const beganAt = this.#connections.instant();
    const fail = (error: Error): void => {
      if (use.isOver) return;
      stop();
      this.#connections.doubt(beganAt);
      for (const { failed } of [...this.#watchers]) failed(error);
    };
    const { listensItself } = this.#connections;
    const beginning = listensItself ? this.#listenBy(listensItself, use) : this.#listenOnConnection(use, fail);
    const timeUp = new AbortController();
    const begun = Promise.race([beginning, this.#timeLimit(timeUp.signal)]).finally(() => timeUp.abort());
    begun.catch(fail);
    return { begun, stop };
  }

  /** Listens by the driver's own means. */
  async #listenBy(listens: NonNullable<PostgresConnections["listensItself"]>, use: Use): Promise<void> {
    const stop = await listens(CHANNEL, {
      notified: (election) => this.#wake((watcher) => watcher.election === election),
      resumed: () => this.#wake(() => true),
    });
    // The driver's connection may be gone already.
    use.end = () => void stop().catch(() => undefined);
    if (use.isOver) use.end();
  }

  /** Sends LISTEN on a connection of the pool. */
  async #listenOnConnection(use: Use, fail: (error: Error) => void): Promise<void> {
    const client = await this.#connections.get();
    if (use.isOver) {
      this.#connections.release(client);
      return;
    }
    // The connection has LISTEN in its state at the server, so it must not go back to the pool.
    use.end = () => this.#connections.discard(client);
    client.on("notification", ({ payload }: { readonly payload?: string }) =>
      this.#wake((watcher) => watcher.election === payload),
    );
    client.on("error", fail);
    await client.query(statement(`LISTEN ${CHANNEL}`));
  }

  #wake(concerns: (watcher: Watcher) => boolean): void {
    for (const watcher of [...this.#watchers]) if (concerns(watcher)) watcher.changed();
  }

  /** Rejects once LISTEN has taken too long, or once `over` aborts. */
  async #timeLimit(over: AbortSignal): Promise<never> {
    await sleep(this.#clock, LISTEN_TIMEOUT_MS, over);
    throw new Error(`LISTEN got no answer within ${LISTEN_TIMEOUT_MS} ms.`);
  }
}
