import { ConfigurationError } from "@leasehold/core";
import type {
  Fenced,
  GetOptions,
  LeaseRecord,
  ListedRecord,
  ListRecordsOptions,
  PutOptions,
  PutOutcome,
  RecordRequestOptions,
  StoredRecord,
} from "@leasehold/core/provider";
import { writtenAtWallMs } from "../clock.ts";
import { fenced, fenceIsMissing, notInTransaction, outranks } from "../fence.ts";
import { FENCED_TEXT, type FenceSql } from "../fence-sql.ts";
import { listRows } from "../listing.ts";
import { PoolRecordStore, type Server } from "../pool-record-store.ts";
import { lockTimeoutMs } from "../requests.ts";
import {
  COLUMNS,
  columnValues,
  FREE_TEXT,
  fenceTermOf,
  lostRow,
  NO_VERSION,
  stored,
  type RecordTable,
  type Row,
} from "../schema.ts";
import type { FencedRecordStore } from "../sql-database.ts";
import { notCommitted, readInTransaction } from "../sql-errors.ts";
import { statement, type PostgresPoolClient } from "./postgres-driver.ts";
import { clientOf } from "./postgres-handles.ts";
import { isCommitted, withoutWarning, type PostgresConnections } from "./postgres-pool.ts";
import { SHOWN, statementsOf, type Statements } from "./postgres-statements.ts";

/** Fails outside a transaction. Changes nothing inside one. */
const CHECK_TRANSACTION = "SAVEPOINT leasehold_fence; RELEASE SAVEPOINT leasehold_fence";
const NO_TRANSACTION = "25P01";
/** invalid_text_representation: the error of a guard that fails. */
const NO_NUMBER = "22P02";
const NO_CONNECTION =
  "fence() needs a connection of the driver with a transaction begun on it: a client of pg, or the sql or the transaction that postgres.js or PGlite gave to your function. In a transaction of an ORM, send the statement of fenceSql() instead.";
const FENCED_BY = new RegExp(`${FENCED_TEXT} by term (\\d+|none)`);

export type PostgresServer = Server<PostgresConnections, PostgresPoolClient>;

/** Stores records in the rows of one table in PostgreSQL. */
export class PostgresRecordStore extends PoolRecordStore<PostgresConnections, PostgresPoolClient> implements FencedRecordStore {
  readonly name: string = "postgres";
  readonly #statements: Statements;

  constructor(table: RecordTable, server: PostgresServer) {
    super(table, server);
    this.#statements = statementsOf(table);
  }

  async get(election: string, options: Omit<GetOptions, "consistent">): Promise<StoredRecord | undefined> {
    return await this.run("get", election, options, async (client) => {
      const [row] = (await client.query(statement(this.#statements.select, this.table.keyOf(election)))).rows;
      if (!isCommitted(client)) throw readInTransaction({ store: this.name, election });
      const found = stored(row && withBytes(row));
      const { fences } = this.#statements;
      if (found || !fences) return found;
      return lostRow((await client.query(statement(fences.selectTerm, [election]))).rows[0]);
    });
  }

  async put(election: string, record: LeaseRecord, options: PutOptions): Promise<PutOutcome> {
    const { ifVersion = NO_VERSION, keepsNonce, signal } = options;
    const { seed, update, fences } = this.#statements;
    const fence = fences && options.fence;
    const lockMs = lockTimeoutMs(options);
    const key = this.table.keyOf(election);
    const version = this.server.clock.randomUuid();
    const columns = valuesOf(record);
    const write = async (client: PostgresPoolClient): Promise<PutOutcome> => {
      // The election's first acquisition makes the rows for which all candidates compete.
      if (ifVersion === NO_VERSION) {
        if (!this.server.connections.hasKeys) await this.server.connections.checkKeys(client);
        await client.query(statement(seed(lockMs), key));
      }
      signal.throwIfAborted();
      const values = [...key, ifVersion, version, ...columns, keepsNonce ? null : writtenAtWallMs(this.server.clock)];
      const { rowCount } = fence
        ? await client.query(
            statement(fences.update(lockMs, keepsNonce), [...values, fence.term, fence.termId, outranks(record, fence)]),
          )
        : await client.query(statement(update(lockMs, { keepsNonce, vacates: record.termId === null }), values));
      if (!isCommitted(client)) throw notCommitted({ store: this.name, operation: "put", election });
      if (rowCount === 1) return { stored: true, version };
      if (fence && this.table.fences) {
        const [both] = (await client.query(statement(fences.selectBoth, key))).rows;
        const isMissing = fenceIsMissing(election, outranks(record, fence), ifVersion, both, this.table.fences);
        // Makes the fence's row, so that the next try succeeds.
        if (isMissing) await client.query(statement(fences.seed, key));
      }
      return { stored: false };
    };
    return await this.run("put", election, options, async (client) =>
      withoutWarning(client, { store: this.name, operation: "put", election }, () => write(client)),
    );
  }

  async fenceTerm(election: string, options: RecordRequestOptions): Promise<number | undefined> {
    const { fences } = this.#statements;
    if (!fences) return undefined;
    return await this.run("get", election, options, async (client) => {
      const { rows } = await client.query(statement(fences.selectTerm, [election]));
      return fenceTermOf(rows[0]);
    });
  }

  async fence(leadership: Fenced, connection: unknown): Promise<void> {
    const transaction = clientOf(connection);
    if (!transaction) throw new ConfigurationError(NO_CONNECTION);
    const { election } = leadership;
    this.server.connections.checkOpen();
    const { text, values } = this.fenceSql(leadership);
    try {
      // Sent in this turn, so that it precedes the statements of a caller that does not wait for `fence()`.
      await transaction.query(statement(text, values));
      await transaction.query(statement(CHECK_TRANSACTION));
    } catch (error) {
      // The `query` of an ORM takes a text only.
      if (error instanceof TypeError) throw new ConfigurationError(NO_CONNECTION, { cause: error });
      const { code, message = "" } = error as { readonly code?: unknown; readonly message?: string };
      if (code === NO_TRANSACTION) throw notInTransaction(election, this.table.fences ?? this.table.name);
      const [, currentTerm] = (code === NO_NUMBER ? FENCED_BY.exec(message) : undefined) ?? [];
      if (currentTerm === undefined) throw error;
      throw fenced(leadership, currentTerm === "none" ? undefined : Number(currentTerm));
    }
  }

  fenceSql({ election, term, termId }: Fenced): FenceSql {
    return { text: this.#statements.guard, values: [...this.table.keyOf(election), String(term), termId] };
  }

  list(prefix: string, options: ListRecordsOptions): AsyncIterable<ListedRecord> {
    return listRows(
      prefix,
      options,
      this.table,
      (number) => `$${number}`,
      async ({ clauses, values }, limits) =>
        await this.run("list", prefix, limits, async (client) => {
          const { rows } = await client.query(statement(`SELECT ${SHOWN} FROM ${this.table.name} ${clauses}`, [...values]));
          if (!isCommitted(client)) throw readInTransaction({ store: this.name, election: prefix });
          return rows.map(withBytes);
        }),
    );
  }
}

/**
 * Returns the values of {@link COLUMNS}. Those that may contain a NUL are bytes, because PostgreSQL's text cannot contain one.
 */
function valuesOf(record: LeaseRecord): unknown[] {
  return columnValues(record).map((value, index) =>
    typeof value === "string" && FREE_TEXT.includes(COLUMNS[index] ?? "") ? Buffer.from(value, "utf8") : value,
  );
}

/** Returns the row with its hexadecimal texts decoded to bytes. */
function withBytes(row: Row): Row {
  const bytes = FREE_TEXT.map((column) => [column, typeof row[column] === "string" ? Buffer.from(row[column], "hex") : null]);
  return { ...row, ...(Object.fromEntries(bytes) as Row) };
}
