import { PoolTrust, trustOf } from "./pool-trust.ts";
import type { Connections } from "./requests.ts";
import { storeClosed } from "./sql-errors.ts";
import type { Tables } from "./tables.ts";

/**
 * The longest time in which the store's own pool makes a connection. While the pool makes all of its connections, no call has
 * one.
 */
export const CONNECT_TIMEOUT_MS = 5_000;

/** Connections to the user's database, from the user's pool or, for a URL, from the store's own pool. */
export abstract class PoolConnections<Pool, Connection extends object> implements Connections<Connection> {
  readonly tables: Tables;
  protected readonly given: Pool | string;
  protected readonly trust: PoolTrust;
  readonly #open: (url: string, trust: PoolTrust) => Promise<Pool>;
  #own: Promise<Pool> | undefined;
  #closed: Promise<void> | undefined;
  /** True once {@link checkKeys} has found the keys of the tables. */
  hasKeys = false;

  /**
   * @param handle the user's handle. All stores on it share what is known of its connections.
   * @param newConnection the event by which its pool announces a connection.
   * @param open opens the store's own pool, to which the trust has to listen.
   */
  constructor(
    given: Pool | string,
    handle: unknown,
    tables: Tables,
    newConnection: string,
    open: (url: string, trust: PoolTrust) => Promise<Pool>,
  ) {
    this.given = given;
    this.tables = tables;
    this.trust = typeof given === "string" ? new PoolTrust() : trustOf(handle as object, newConnection);
    this.#open = open;
  }

  get isOwn(): boolean {
    return typeof this.given === "string";
  }

  async get(): Promise<Connection> {
    this.checkOpen();
    const pool = await this.#pool();
    this.checkOpen();
    return await this.trust.get(
      () => this.take(pool),
      (connection) => this.keyOf(connection),
      (connection) => this.discard(connection),
    );
  }

  instant(): number {
    return this.trust.instant();
  }

  doubt(instant: number): void {
    this.trust.doubt(instant);
  }

  /** Closes the pool if it is the store's own. From then on `get` rejects. */
  async close(): Promise<void> {
    this.#closed ??= this.#end();
    await this.#closed;
  }

  checkOpen(): void {
    if (this.#closed) throw storeClosed();
  }

  async checkKeys(connection: Connection): Promise<void> {
    await this.checkIndexes(connection);
    this.hasKeys = true;
  }

  abstract release(connection: Connection): void;
  /**
   * Closes a connection without sending anything. If the other end is gone, the socket would otherwise stay open for long, and so
   * would the process.
   */
  abstract discard(connection: Connection): void;
  abstract cancel(connection: Connection, by: Connection): Promise<void>;
  abstract blockersOf(connection: Connection, by: Connection): Promise<string | undefined>;

  protected get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  protected abstract take(pool: Pool): Promise<Connection>;
  /** Returns the driver's own object for the connection, which is the same at each use. */
  protected abstract keyOf(connection: Connection): object;
  protected abstract end(own: Pool): Promise<void>;
  protected abstract checkIndexes(connection: Connection): Promise<void>;

  async #end(): Promise<void> {
    const own = await this.#own?.catch(() => undefined);
    if (own !== undefined) await this.end(own);
  }

  async #pool(): Promise<Pool> {
    if (typeof this.given !== "string") return this.given;
    this.#own ??= this.#open(this.given, this.trust);
    return await this.#own;
  }
}
