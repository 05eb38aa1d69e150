import type { Clock } from "@leasehold/core";
import { LAYOUT_CHECKS, LEASE_TABLE, occurrenceTable } from "../schema.ts";
import type { FencedRecordStore, SqlDatabase } from "../sql-database.ts";
import { migrating } from "../sql-errors.ts";
import { mysqlMeaning } from "./mysql-errors.ts";
import { MySqlConnections, statement } from "./mysql-pool.ts";
import { MySqlRecordStore } from "./mysql-record-store.ts";
import { MYSQL_MIGRATION } from "./mysql-schema.ts";

/** In a session with autocommit off, having read a table keeps it from being altered. */
const END_READING = "COMMIT";

/** MySQL and MariaDB through `mysql2`. */
export class MySqlDatabase extends MySqlRecordStore implements SqlDatabase {
  readonly migration: readonly string[] = MYSQL_MIGRATION;
  readonly #connections: MySqlConnections;
  readonly #clock: Clock;

  constructor(pool: unknown, clock: Clock) {
    const connections = new MySqlConnections(pool);
    super(LEASE_TABLE, connections, clock);
    this.#connections = connections;
    this.#clock = clock;
  }

  occurrences(election: string, retentionMs: number): FencedRecordStore {
    return new MySqlRecordStore(occurrenceTable(election, retentionMs), this.#connections, this.#clock);
  }

  async migrate(): Promise<void> {
    await migrating(this.name, mysqlMeaning, async () => {
      const connection = await this.#connections.get();
      try {
        for (const sql of [...this.migration, ...LAYOUT_CHECKS, END_READING]) await connection.query(statement(sql, []));
      } finally {
        this.#connections.release(connection);
      }
    });
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }
}
