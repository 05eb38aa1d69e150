import { StoreWarnings, wakeUps, type Clock, type RecordRequestOptions } from "@leasehold/core/provider";
import { createTables } from "../create-tables.ts";
import { settingsOf } from "../layout.ts";
import type { PostgresOptions } from "../options.ts";
import { layoutChecks, leaseTable, occurrenceTable } from "../schema.ts";
import { Requests } from "../requests.ts";
import type { FencedRecordStore, SqlDatabase } from "../sql-database.ts";
import { migrating, rolledBack, toStoreError } from "../sql-errors.ts";
import { tablesOf } from "../tables.ts";
import { statement } from "./postgres-driver.ts";
import { postgresMeaning } from "./postgres-errors.ts";
import { postgresWarnings, SETTINGS } from "./postgres-layout.ts";
import { CHANNEL, listenerOf, type PostgresListener, type NotifyingStore } from "./postgres-listener.ts";
import { PostgresConnections } from "./postgres-pool.ts";
import { PostgresRecordStore } from "./postgres-record-store.ts";

/** unique_violation in the catalogue, duplicate_table, duplicate_object. */
const CREATED_MEANWHILE: ReadonlySet<string> = new Set(["23505", "42P07", "42710"]);

const CONNECTS_FOR_EVER =
  "The pool given as postgres has no connectionTimeoutMillis: a connection that a network swallows while it is made keeps its place in the pool for ever, and once all do, nobody here leads again. Give the pool connectionTimeoutMillis: 5000.";

const POOL_OF_ONE =
  "The pool given as postgres has a single connection, which LISTEN would keep from all else. Standbys poll for a release every retryPeriodMs instead of being notified; give the pool a max of 3, or the store a URL.";

const NOTIFY_NOBODY = `SELECT pg_notify('${CHANNEL}', '')`;
const NOT_NOTIFIED =
  "The store listens on PostgreSQL, but no notification came when it notified itself. The likely reason is a pooler that shares connections by transaction (PgBouncer, Supabase on port 6543), which lets none through. Standbys poll every retryPeriodMs. Give the store a URL that goes to the server itself as listen, or listen: false.";

/** PostgreSQL through any of the drivers in `postgres-handles.ts`. */
export class PostgresDatabase extends PostgresRecordStore implements SqlDatabase {
  readonly migration: readonly string[];
  readonly warnings: StoreWarnings = new StoreWarnings();
  /** Other stores on the same handle may use it too. */
  readonly #listener: PostgresListener;
  readonly #notifying: NotifyingStore;
  /** The reason why standbys cannot be notified; `undefined` if they can. */
  readonly #cannotListen: string | undefined;
  readonly watch?: NonNullable<SqlDatabase["watch"]>;

  constructor(pool: unknown, clock: Clock, { listen, table }: Pick<PostgresOptions, "listen" | "table"> = {}) {
    const tables = tablesOf(table, { quote: '"', hasSchemas: true });
    const connections = new PostgresConnections(pool, tables);
    const requests = new Requests(connections, postgresMeaning, clock);
    super(leaseTable(tables), { connections, requests, clock });
    this.migration = Object.values(createTables("postgres", tables));
    const isElsewhere = listen !== undefined && listen !== false && listen !== pool;
    this.#listener = isElsewhere ? listenerOf(listen, "listen", clock) : listenerOf(pool, "postgres", clock, connections);
    this.#notifying = {
      notify: (signal) => requests.use(signal, (client) => client.query(statement(NOTIFY_NOBODY))),
      notHeard: () => this.warnings.warnOnce("LEASEHOLD_WATCH_DEAF", NOT_NOTIFIED, NOT_NOTIFIED),
    };
    const poolOfOne = !isElsewhere && connections.isSingle ? POOL_OF_ONE : undefined;
    this.#cannotListen = this.#listener.connections.cannotListen ?? poolOfOne;
    if (listen !== false && this.#cannotListen === undefined)
      this.watch = (election, { signal }) => this.#watch(election, signal);
  }

  occurrences(election: string, retentionMs: number): FencedRecordStore {
    return new PostgresRecordStore(occurrenceTable(this.server.connections.tables, election, retentionMs), this.server);
  }

  async transaction<T>(work: (connection: unknown) => Promise<T>): Promise<T> {
    const { transaction } = this.server.connections;
    if (transaction) return await transaction(work);
    return await this.server.requests.inTransaction(async (client, sql) => {
      const { command } = await client.query(statement(sql));
      // PostgreSQL answers so to the COMMIT of a transaction in which a statement has failed.
      if (sql === "COMMIT" && command === "ROLLBACK") throw rolledBack(this.name);
    }, work);
  }

  async *#watch(election: string, signal: AbortSignal): AsyncGenerator<void> {
    try {
      this.server.connections.checkOpen();
      yield* wakeUps((callbacks) => this.#listener.join({ ...callbacks, election, store: this.#notifying }), signal);
    } catch (error) {
      if (!signal.aborted)
        throw toStoreError(error, { store: this.name, operation: "watch", election, writes: false }, postgresMeaning);
    }
  }

  async inspect(limits: RecordRequestOptions): Promise<readonly string[]> {
    const label = { store: this.name, operation: "check", election: undefined, writes: false };
    return await this.server.requests.run(label, limits, async (client) => {
      await this.server.connections.checkKeys(client);
      const ofServer = postgresWarnings(settingsOf((await client.query(statement(SETTINGS))).rows));
      const { boundsConnecting } = this.server.connections;
      // Without a watch, either the user has asked for none, or the pool has none.
      const cannotListen = this.watch ? undefined : this.#cannotListen;
      return [
        ...ofServer,
        ...(cannotListen === undefined ? [] : [cannotListen]),
        ...(boundsConnecting ? [] : [CONNECTS_FOR_EVER]),
      ];
    });
  }

  async migrate(): Promise<void> {
    await migrating(this.name, postgresMeaning, async () => {
      await this.server.requests.use(new AbortController().signal, async (client) => {
        for (const sql of this.migration) {
          // If several processes create a table at once, all but one fail in spite of IF NOT EXISTS. The table exists then.
          await client.query(statement(sql)).catch((error: unknown) => {
            if (!CREATED_MEANWHILE.has(String((error as { readonly code?: unknown }).code))) throw error;
          });
        }
        for (const sql of layoutChecks(this.server.connections.tables)) await client.query(statement(sql));
        await this.server.connections.checkKeys(client);
      });
    });
  }

  async close(): Promise<void> {
    this.#listener.close(this.#notifying);
    const { connections } = this.#listener;
    await Promise.all([this.server.connections.close(), ...(connections.isOwn ? [connections.close()] : [])]);
  }
}
