import type { Clock } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { statement, type PostgresConnections, type PostgresPoolClient } from "./postgres-pool.ts";

/** The channel of NOTIFY; its payload is the election. */
export const CHANNEL = "leasehold";
/** The longest wait for the server to begin. */
const LISTEN_TIMEOUT_MS = 10_000;

/** A watch of one election: it is called at each change, and when the listening ends. */
interface Watcher {
  readonly election: string;
  readonly changed: () => void;
  readonly failed: (error: Error) => void;
}

/** A connection that listens, or is about to. */
interface Listening {
  /** Resolves once every later change is sure to be notified. */
  readonly begun: Promise<void>;
  /** Closes the connection, also one that is only being made. */
  readonly stop: () => void;
}

/** One connection that listens, for all who watch; it is open while anybody does. */
export class PostgresListener {
  readonly #connections: PostgresConnections;
  readonly #clock: Clock;
  readonly #watchers = new Set<Watcher>();
  #listening: Listening | undefined;

  constructor(connections: PostgresConnections, clock: Clock) {
    this.#connections = connections;
    this.#clock = clock;
  }

  /** `listening` resolves once every later change is sure to be notified, and rejects with the driver's error. */
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
      // It has its state at the server: nobody else gets this connection.
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

  /** @throws once LISTEN has taken too long, or once `over` aborts. */
  async #timeLimit(over: AbortSignal): Promise<never> {
    await sleep(this.#clock, LISTEN_TIMEOUT_MS, over);
    throw new Error(`LISTEN got no answer within ${LISTEN_TIMEOUT_MS} ms.`);
  }
}
