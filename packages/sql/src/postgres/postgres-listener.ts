import { type Clock, sleep } from "@leasehold/core/provider";
import { statement, type PostgresConnections, type PostgresPoolClient } from "./postgres-pool.ts";

/** The channel of NOTIFY. The payload is the election. */
export const CHANNEL = "leasehold";
/** The longest wait until the server has confirmed LISTEN. */
const LISTEN_TIMEOUT_MS = 10_000;

/** The callbacks of a watch of one election: `changed` at each change, `failed` when the listening ends. */
interface Watcher {
  readonly election: string;
  readonly changed: () => void;
  readonly failed: (error: Error) => void;
}

/** A connection that listens, or is about to listen. */
interface Listening {
  /** Resolves once the server is certain to notify every later change. */
  readonly begun: Promise<void>;
  /** Closes the connection, even if it is still being made. */
  readonly stop: () => void;
}

/** Listens on one connection for all watches. The connection is open while at least one watch exists. */
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
  join(watcher: Watcher): { readonly listening: Promise<void>; readonly leave: () => void } {
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
    let client: PostgresPoolClient | undefined;
    let stopped = false;
    const stop = (): void => {
      stopped = true;
      this.#listening = undefined;
      // The connection has LISTEN in its state at the server, so it must not go back to the pool.
      if (client) this.#connections.discard(client);
    };
    const beganAt = this.#connections.instant();
    const fail = (error: Error): void => {
      if (stopped) return;
      stop();
      this.#connections.doubt(beganAt);
      for (const { failed } of [...this.#watchers]) failed(error);
    };
    const begin = async (): Promise<void> => {
      const connected = await this.#connections.get();
      if (stopped) {
        this.#connections.release(connected);
        return;
      }
      client = connected;
      client.on("notification", ({ payload }: { readonly payload?: string }) => {
        for (const { election, changed } of [...this.#watchers]) if (election === payload) changed();
      });
      client.on("error", fail);
      await client.query(statement(`LISTEN ${CHANNEL}`));
    };
    const timeUp = new AbortController();
    const begun = Promise.race([begin(), this.#timeLimit(timeUp.signal)]).finally(() => timeUp.abort());
    begun.catch(fail);
    return { begun, stop };
  }

  /** Rejects once LISTEN has taken too long, or once `over` aborts. */
  async #timeLimit(over: AbortSignal): Promise<never> {
    await sleep(this.#clock, LISTEN_TIMEOUT_MS, over);
    throw new Error(`LISTEN got no answer within ${LISTEN_TIMEOUT_MS} ms.`);
  }
}
