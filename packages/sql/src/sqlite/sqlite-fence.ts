import { ConfigurationError } from "@leasehold/core";
import type { Fence, Fenced } from "@leasehold/core/provider";
import { checkFence, fenceIsMissing, notInTransaction } from "../fence.ts";
import { isFenced, type FenceSql } from "../fence-sql.ts";
import { NO_VERSION, type Row } from "../schema.ts";
import type { Tables } from "../tables.ts";
import { checkNoOtherLibrary } from "./other-library.ts";
import { sqliteMeaning } from "./sqlite-errors.ts";
import type { OpenFiles } from "./sqlite-files.ts";
import { inPresentTransaction, OwnTransactionError, waitingForLocks, type SqliteHandle } from "./sqlite-handle.ts";

const FOREIGN_KEYS_OFF =
  "fence() needs foreign keys on its connection: run PRAGMA foreign_keys = ON after opening it. They keep a stale leader's transaction from being committed.";

interface FenceMove {
  readonly election: string;
  readonly fence: Fence;
  /** The new fence replaces only a fence with a term below this; see `outranks`. */
  readonly below: number;
  readonly ifVersion: string;
  /** The version that an acquisition writes, and another new one, by which it can be undone. */
  readonly undo: { readonly version: string; readonly by: string } | undefined;
}

/** The fences of leases, in the file of the data that they guard. */
export class SqliteFence {
  readonly #tables: Tables;
  readonly #select: string;
  /**
   * Fails unless the fence has the term and the `termId`, and keeps the transaction from being committed.
   *
   * It inserts two guards only if the fence does not match. The first one violates the deferred foreign key, so COMMIT fails. The
   * second one violates a constraint at once, and `OR FAIL` leaves the first one in place. Even if it inserts nothing, it takes the
   * lock of a writer, so the fence does not change until the transaction ends. With foreign keys off, the first guard has no
   * election, which fails at once.
   */
  readonly guard: string;

  constructor(tables: Tables) {
    this.#tables = tables;
    this.#select = `SELECT term, term_id FROM ${tables.fences} WHERE election = ?`;
    this.guard = `INSERT OR FAIL INTO ${tables.guards} (election, term, term_id)
WITH bid (election, term, term_id) AS (SELECT CAST(? AS TEXT), CAST(CAST(? AS TEXT) AS INTEGER), CAST(? AS TEXT)),
  keys (are_on) AS (SELECT foreign_keys FROM pragma_foreign_keys)
SELECT CASE WHEN keys.are_on THEN bid.election END, bid.term, CASE guard.number WHEN 1 THEN bid.term_id END
FROM bid, keys, (SELECT 1 AS number UNION ALL SELECT 2) AS guard
WHERE NOT keys.are_on OR NOT EXISTS
  (SELECT 1 FROM ${tables.fences} f WHERE f.election = bid.election AND f.term = bid.term AND f.term_id = bid.term_id)
ORDER BY guard.number`;
  }

  /** Checks the fence on the caller's connection. @param checkOpen throws if the store was closed. */
  check(leadership: Fenced, { text, values }: FenceSql, connection: unknown, checkOpen: () => void): void {
    const database = connection as SqliteHandle;
    if (typeof database?.prepare !== "function" || typeof database.exec !== "function") {
      throw new ConfigurationError(
        "fence() needs a handle of SQLite with exec and prepare, such as a DatabaseSync of node:sqlite, opened on the same file as the store.",
      );
    }
    checkOpen();
    const { election } = leadership;
    if (!inPresentTransaction(database)) throw notInTransaction(election, this.#tables.fences);
    // A handle may give each integer as a `bigint`.
    if (Number(Object.values(database.prepare("PRAGMA foreign_keys").get() ?? {})[0]) !== 1)
      throw new ConfigurationError(FOREIGN_KEYS_OFF);
    try {
      database.prepare(text).run(...values);
    } catch (error) {
      if (!isFenced(error)) throw error;
      checkFence(leadership, database.prepare(this.#select).get(election) as Row | undefined);
      throw error;
    }
  }

  /** Fails if the handle of the data is read-only, which only a write shows. Changes nothing, and waits for no lock. */
  probe({ data }: OpenFiles): void {
    if (inPresentTransaction(data)) return;
    try {
      waitingForLocks(data, 0, () => data.exec(`DELETE FROM ${this.#tables.guards} WHERE 0`));
    } catch (error) {
      if (sqliteMeaning(error)?.code !== "STORE_CONFLICT") throw error;
    }
  }

  /**
   * Writes a lease and its fence: both, or neither. The file of the fence is locked throughout.
   *
   * The lease is committed first, because a process may be killed between the two commits. The fence is then behind, which lets no
   * stale leader pass, and the next acquisition moves it. If the fence cannot be committed, as on a full disk, an acquisition is
   * undone.
   */
  move({ data, leases, path, isOwn }: OpenFiles, move: FenceMove, write: () => boolean): boolean {
    if (isOwn) checkNoOtherLibrary(path);
    if (inPresentTransaction(data)) throw new OwnTransactionError();
    // Exclusive, because a commit that has to wait for readers could fail.
    data.exec("BEGIN EXCLUSIVE");
    let written = false;
    try {
      written = this.#moves(data, leases, move) && write();
      data.exec(written ? "COMMIT" : "ROLLBACK");
      return written;
    } catch (error) {
      if (inPresentTransaction(data)) data.exec("ROLLBACK");
      const { election, undo } = move;
      const vacate = `UPDATE ${this.#tables.leases} SET term_id = NULL, candidate_id = NULL, version = ? WHERE election = ? AND version = ?`;
      if (written && undo) leases.prepare(vacate).run(undo.by, election, undo.version);
      throw error;
    }
  }

  /**
   * Moves the fence, but never backwards. Only an acquisition opens the fence, for a later term. Only the end of that term closes
   * it.
   * @returns true if it was behind the write. @throws {TermRegressedError} if the fence is ahead.
   */
  #moves(data: SqliteHandle, leases: SqliteHandle, { election, fence, below, ifVersion }: FenceMove): boolean {
    const { term, termId } = fence;
    const { fences } = this.#tables;
    data.prepare(`INSERT INTO ${fences} (election) VALUES (?) ON CONFLICT DO NOTHING`).run(election);
    const update = `UPDATE ${fences} SET term = ?, term_id = ? WHERE election = ? AND (term < ? OR (term = ? AND ? IS NULL))`;
    if (Number(data.prepare(update).run(term, termId, election, below, term, termId).changes) === 1) return true;
    // Before the first acquisition there is no row.
    const select = `SELECT version FROM ${this.#tables.leases} WHERE election = ?`;
    const { version } = (leases.prepare(select).get(election) ?? { version: NO_VERSION }) as Row;
    const found = data.prepare(this.#select).get(election) as Row;
    fenceIsMissing(election, below, ifVersion, { version, fence_term: found["term"] }, fences);
    return false;
  }
}
