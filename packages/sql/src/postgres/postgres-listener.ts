import { statement, type PostgresConnections, type PostgresPoolClient } from "./postgres-pool.ts";

/** The channel of NOTIFY; its payload is the election. */
export const CHANNEL = "leasehold";

/** Somebody who is told of an election's changes, and of the end of that. */
interface Watcher {
  readonly election: string;
  readonly changed: () => void;
  readonly failed: (error: Error) => void;
}

/** One connection that listens, for all who watch; it is open while anybody does. */
export class PostgresListener {
  readonly #connections: PostgresConnections;
  readonly #watchers = new Set<Watcher>();
  #listening: Promise<PostgresPoolClient> | undefined;

  constructor(connections: PostgresConnections) {
    this.#connections = connections;
  }

  /**
   * Resolves once every later change is sure to be told; returns how to stop that.
   * @throws the driver's error.
   */
  async add(watcher: Watcher): Promise<() => void> {
    this.#watchers.add(watcher);
    try {
      this.#listening ??= this.#listen();
      await this.#listening;
    } catch (error) {
      this.#remove(watcher);
      throw error;
    }
    return () => this.#remove(watcher);
  }

  #remove(watcher: Watcher): void {
    if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return;
    const listening = this.#listening;
    this.#listening = undefined;
    // It has its state at the server: nobody else gets this connection.
    void listening?.then((client) => client.release(true)).catch(() => undefined);
  }

  async #listen(): Promise<PostgresPoolClient> {
    const fail = (error: Error): void => {
      this.#listening = undefined;
      for (const { failed } of [...this.#watchers]) failed(error);
    };
    try {
      const client = await this.#connections.get();
      client.on("notification", ({ payload }: { readonly payload?: string }) => {
        for (const { election, changed } of [...this.#watchers]) if (election === payload) changed();
      });
      client.on("error", (error: Error) => {
        client.release(true);
        fail(error);
      });
      await client.query(statement(`LISTEN ${CHANNEL}`));
      return client;
    } catch (error) {
      this.#listening = undefined;
      throw error;
    }
  }
}
