import { DatabaseSync } from "node:sqlite";
import type { Leadership } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";

export interface Payment {
  readonly id: number;
  readonly cents: number;
}

/** An entry of the ledger: a payment that was applied, with the term of the leader that applied it. */
export interface Entry {
  readonly payment: number;
  readonly term: number;
  readonly balance: number;
}

// The tables allow a payment to be applied twice. The fence prevents that.
const TABLES = `
  CREATE TABLE IF NOT EXISTS payments (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL, is_applied INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE IF NOT EXISTS ledger (entry INTEGER PRIMARY KEY, payment INTEGER NOT NULL, term INTEGER NOT NULL, balance INTEGER NOT NULL);
`;

/** Payments that wait in a table, and the ledger to which they are applied, both in one database. */
export class Payments implements AsyncDisposable {
  /** The leases are in the same file as the payments, because one transaction has to cover both. */
  readonly store: SqlLeaseStore;
  readonly #database: DatabaseSync;

  constructor(file: string) {
    this.store = new SqlLeaseStore({ sqlite: file });
    try {
      // The milliseconds to wait for the transaction of another process.
      this.#database = new DatabaseSync(file, { timeout: 10_000 });
      this.#database.exec(TABLES);
    } catch (error) {
      throw new Error(`${file} cannot be opened: ${(error as Error).message}`, { cause: error });
    }
  }

  add(cents: number): void {
    this.#database.prepare("INSERT INTO payments (cents) VALUES (?)").run(cents);
  }

  /** The next payment in order, if there is one. */
  next(): Payment | undefined {
    const select = "SELECT id, cents FROM payments WHERE NOT is_applied ORDER BY id LIMIT 1";
    return this.#database.prepare(select).get() as unknown as Payment | undefined;
  }

  /**
   * Applies a payment, if this leadership still lasts.
   * @throws {FencedError} if it does not, even if this process still believes it leads. Then nothing is written.
   */
  async apply({ id, cents }: Payment, leadership: Leadership): Promise<Entry> {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      await this.store.fence(leadership, this.#database);
      const entry = { payment: id, term: leadership.term, balance: this.#balance() + cents };
      const insert = "INSERT INTO ledger (payment, term, balance) VALUES (:payment, :term, :balance)";
      this.#database.prepare(insert).run(entry);
      this.#database.prepare("UPDATE payments SET is_applied = 1 WHERE id = ?").run(id);
      this.#database.exec("COMMIT");
      return entry;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** The whole ledger, in the order in which it was written. */
  ledger(): Entry[] {
    return this.#database.prepare("SELECT payment, term, balance FROM ledger ORDER BY entry").all() as unknown as Entry[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#database.close();
    await this.store.close();
  }

  #balance(): number {
    return this.ledger().at(-1)?.balance ?? 0;
  }
}
