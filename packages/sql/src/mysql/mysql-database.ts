import type { Clock, RecordRequestOptions } from "@leasehold/core/provider";
import { createTables } from "../create-tables.ts";
import { settingsOf } from "../layout.ts";
import { layoutChecks, leaseTable, occurrenceTable, type Row } from "../schema.ts";
import type { FencedRecordStore, SqlDatabase } from "../sql-database.ts";
import { endedByWork, migrating } from "../sql-errors.ts";
import type { MySqlOptions } from "../options.ts";
import { Requests } from "../requests.ts";
import { tablesOf } from "../tables.ts";
import { statement } from "./mysql-driver.ts";
import { mysqlMeaning, NO_SAVEPOINT } from "./mysql-errors.ts";
import { mysqlWarnings, SETTINGS } from "./mysql-layout.ts";
import { MySqlConnections } from "./mysql-pool.ts";
import { MySqlRecordStore } from "./mysql-record-store.ts";

/**
 * Ends the transaction that a read began. In a session with autocommit off, a table cannot be altered until the transaction that
 * read it ends.
 */
const END_READING = "COMMIT";

/**
 * The savepoint at the beginning of a guarded transaction. It is missing at the end if the server has ended the transaction
 * meanwhile. Then the rest of the work was not guarded.
 */
const WORK = "leasehold_work";

/** MySQL and MariaDB through any of the drivers in `mysql-handles.ts`. */
export class MySqlDatabase extends MySqlRecordStore implements SqlDatabase {
  readonly migration: readonly string[];

  constructor(pool: unknown, clock: Clock, { table }: Pick<MySqlOptions, "table"> = {}) {
    const tables = tablesOf(table, { quote: "`", hasSchemas: true });
    const connections = new MySqlConnections(pool, tables);
    const requests = new Requests(connections, mysqlMeaning, clock);
    super(leaseTable(tables), { connections, requests, clock });
    this.migration = Object.values(createTables("mysql", tables));
  }

  occurrences(election: string, retentionMs: number): FencedRecordStore {
    return new MySqlRecordStore(occurrenceTable(this.server.connections.tables, election, retentionMs), this.server);
  }

  async transaction<T>(work: (connection: unknown) => Promise<T>): Promise<T> {
    return await this.server.requests.inTransaction(
      async (connection, sql) => {
        // BEGIN would commit what a user of the pool left open on the connection.
        if (sql === "BEGIN") await connection.query(statement("ROLLBACK", []));
        await connection.query(statement(sql, []));
      },
      async (connection) => {
        await connection.query(statement(`SAVEPOINT ${WORK}`, []));
        const result = await work(connection.handed ?? connection);
        await connection.query(statement(`RELEASE SAVEPOINT ${WORK}`, [])).catch((error: unknown) => {
          throw (error as { readonly errno?: unknown }).errno === NO_SAVEPOINT ? endedByWork(this.name) : error;
        });
        return result;
      },
    );
  }

  async inspect(limits: RecordRequestOptions): Promise<readonly string[]> {
    const label = { store: this.name, operation: "check", election: undefined, writes: false };
    return await this.server.requests.run(label, limits, async (connection) => {
      await this.server.connections.checkKeys(connection);
      const settings: Row[] = [];
      for (const sql of SETTINGS) settings.push(...((await connection.query(statement(sql, [])))[0] as Row[]));
      return mysqlWarnings(settingsOf(settings));
    });
  }

  async migrate(): Promise<void> {
    await migrating(this.name, mysqlMeaning, async () => {
      await this.server.requests.use(new AbortController().signal, async (connection) => {
        for (const sql of [...this.migration, ...layoutChecks(this.server.connections.tables)])
          await connection.query(statement(sql, []));
        await this.server.connections.checkKeys(connection);
        await connection.query(statement(END_READING, []));
      });
    });
  }

  async close(): Promise<void> {
    await this.server.connections.close();
  }
}
