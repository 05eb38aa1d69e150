import { ConfigurationError, UnsupportedError } from "@leasehold/core";
import type { Fenced } from "@leasehold/core/provider";
import { checkFence, notInTransaction, passesFence } from "../fence.ts";
import { FENCED_TEXT, type FenceSql } from "../fence-sql.ts";
import { OWN_FENCE, type RecordTable, type Row } from "../schema.ts";
import { isMariaDbConnection, MariaDbConnection } from "./mariadb-connector.ts";
import { bytes, statement, type MySqlConnection } from "./mysql-driver.ts";
import { NO_SAVEPOINT } from "./mysql-errors.ts";
import { connectionOf } from "./mysql-handles.ts";
import { rowOrEnd } from "./row-or-end.ts";

/** Reads a fence on another connection than the one that it was checked on. */
type ReadFence = (select: string, values: readonly Buffer[]) => Promise<Row | undefined>;

export class MySqlFence {
  readonly #table: RecordTable;
  /** The fence's columns. The parameters of the condition are the key. */
  readonly #columns: string;

  constructor(table: RecordTable) {
    this.#table = table;
    const { name, key, fences } = table;
    const whereRow = key.map((column) => `l.${column} = ?`).join(" AND ");
    this.#columns = `${fences ? `SELECT term, term_id FROM ${fences} l` : `SELECT ${OWN_FENCE} FROM ${name} l`} WHERE ${whereRow}`;
  }

  /** Locks and checks the fence on the caller's connection, and ends the connection unless it passes. */
  async check(leadership: Fenced, connection: unknown, read: ReadFence): Promise<void> {
    const { query } = (connection ?? {}) as Partial<MySqlConnection>;
    if (typeof query !== "function")
      throw new ConfigurationError(
        "fence() needs a connection of mysql2, or of MariaDB's connector, with a transaction begun on it. In a transaction of an ORM, use fenceSql() instead.",
      );
    if (isMariaDbConnection(connection)) await this.#checkInServer(leadership, new MariaDbConnection(connection), read);
    else await this.#checkHere(leadership, connection as MySqlConnection);
    const isGuarded = await isInTransaction(connectionOf(connection as object));
    if (!isGuarded) throw notInTransaction(leadership.election, this.#table.fences ?? this.#table.name);
  }

  /**
   * Returns a query that locks the fence, and fails unless the fence passes. It can also be a subquery of a write. To fail, it
   * overflows BIGINT. The server's error quotes the expression, which contains the text of a failed fence. The sum includes a column,
   * because the server would evaluate a constant sum in advance.
   */
  sql({ election, term, termId }: Fenced): FenceSql {
    const { key } = this.#table;
    const binary = "CAST(CONVERT(? USING utf8mb4) AS BINARY)";
    const bid = [...key.map((column) => `${binary} AS ${column}`), "CAST(? AS SIGNED) AS bid_term", `${binary} AS bid_term_id`];
    const { name, fences } = this.#table;
    const found = fences ? `${fences} f` : `(SELECT ${[...key, OWN_FENCE].join(", ")} FROM ${name} LOCK IN SHARE MODE) AS f`;
    const text = `SELECT CASE WHEN f.term = bid.bid_term AND f.term_id = bid.bid_term_id THEN 1
  ELSE COALESCE(f.term, 0) + CHAR_LENGTH('${FENCED_TEXT}') + 9223372036854775807 END AS passed
FROM (SELECT ${bid.join(", ")}) AS bid LEFT JOIN ${found} ON ${key.map((column) => `f.${column} = bid.${column}`).join(" AND ")}
LOCK IN SHARE MODE`;
    return { text, values: [...this.#table.keyOf(election), String(term), termId] };
  }

  async #checkHere(leadership: Fenced, connection: MySqlConnection): Promise<void> {
    // `SHARE`: transactions that check the fence do not exclude one another. They exclude only a write of the fence.
    const locking = statement(this.#select("LOCK IN SHARE MODE"), this.#key(leadership));
    const found = await rowOrEnd(connection, locking, (row) => passesFence(leadership, row));
    checkFence(leadership, found["term"] === null ? undefined : found);
  }

  /**
   * Makes MariaDB itself end the connection of a stale leader. MariaDB's connector sends statements without waiting for the answers
   * before, so this process cannot keep a COMMIT back.
   */
  async #checkInServer(leadership: Fenced, connection: MariaDbConnection, read: ReadFence): Promise<void> {
    const { election, term, termId } = leadership;
    if (!connection.isMariaDb)
      throw new UnsupportedError(
        "fence() on a connection of MariaDB's connector needs a server of MariaDB, because MySQL cannot end a connection by itself. Use mysql2, or put store.fenceSql() into the write.",
        { election },
      );
    // After an error, such as that of a lock that did not come, the server would continue the transaction.
    const guard = `BEGIN NOT ATOMIC
  DECLARE EXIT HANDLER FOR SQLEXCEPTION KILL CONNECTION_ID();
  IF NOT EXISTS (SELECT 1 FROM (${this.#columns} LOCK IN SHARE MODE) AS found WHERE found.term = ? AND found.term_id = ?)
    THEN KILL CONNECTION_ID();
  END IF;
END`;
    try {
      await connection.query(statement(guard, [...this.#key(leadership), term, bytes(termId)]));
    } catch (error) {
      const found = await read(this.#select(""), this.#key(leadership));
      checkFence(leadership, found?.["term"] === null ? undefined : found);
      throw error;
    }
  }

  /** Returns a query of one row, which has the fence's columns. They are null if there is no fence. */
  #select(lock: string): string {
    return `SELECT found.term, found.term_id FROM (SELECT 1) AS always LEFT JOIN (${this.#columns} ${lock}) AS found ON TRUE`;
  }

  #key({ election }: Fenced): Buffer[] {
    return this.#table.keyOf(election).map(bytes);
  }
}

/**
 * Returns whether a transaction is under way. Outside a transaction a savepoint ends together with the statement that makes it.
 */
async function isInTransaction(connection: MySqlConnection): Promise<boolean> {
  await connection.query(statement("SAVEPOINT leasehold_fence", []));
  try {
    await connection.query(statement("RELEASE SAVEPOINT leasehold_fence", []));
    return true;
  } catch (error) {
    if ((error as { readonly errno?: unknown }).errno === NO_SAVEPOINT) return false;
    throw error;
  }
}
