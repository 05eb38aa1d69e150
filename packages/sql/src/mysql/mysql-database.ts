import type { Clock } from "@leasehold/core";
import { LAYOUT_CHECKS, LEASE_TABLE, occurrenceTable } from "../schema.ts";
import type { FencedRecordStore, SqlDatabase } from "../sql-database.ts";
import { migrating } from "../sql-errors.ts";
import { Requests } from "../requests.ts";
import { mysqlMeaning } from "./mysql-errors.ts";
import { MySqlConnections, statement, type MySqlPoolConnection } from "./mysql-pool.ts";
import { MySqlRecordStore } from "./mysql-record-store.ts";
import { MYSQL_MIGRATION } from "./mysql-schema.ts";

/** In a session with autocommit off, having read a table keeps it from being altered. */
const END_READING = "COMMIT";

/** MySQL and MariaDB through `mysql2`. */
export class MySqlDatabase extends MySqlRecordStore implements SqlDatabase {
  readonly migration: readonly string[] = MYSQL_MIGRATION;
  readonly #connections: MySqlConnections;
  readonly #requests: Requests<MySqlPoolConnection>;
  readonly #clock: Clock;

  constructor(pool: unknown, clock: Clock) {
    const connections = new MySqlConnections(pool);
    const requests = new Requests(connections, mysqlMeaning, clock);
    super(LEASE_TABLE, connections, requests, clock);
    this.#connections = connections;
    this.#requests = requests;
    this.#clock = clock;
  }

  occurrences(election: string, retentionMs: number): FencedRecordStore {
    return new MySqlRecordStore(occurrenceTable(election, retentionMs), this.#connections, this.#requests, this.#clock);
  }

  async migrate(): Promise<void> {
    await migrating(this.name, mysqlMeaning, async () => {
      await this.#requests.use(new AbortController().signal, async (connection) => {
        for (const sql of [...this.migration, ...LAYOUT_CHECKS, END_READING]) await connection.query(statement(sql, []));
      });
    });
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }
}
