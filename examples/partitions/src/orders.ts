import { createHash } from "node:crypto";
import type { Shard } from "@leasehold/fleet";
import { SqlLeaseStore } from "@leasehold/sql";
import { Pool } from "pg";

/** Choose it once: it decides in which shard an account's orders are. */
export const SHARDS = 16;

// The tables allow an order to be applied twice. The fence prevents that.
const TABLES = `
  CREATE TABLE IF NOT EXISTS orders (id bigserial PRIMARY KEY, shard text, account text, cents int, is_applied boolean DEFAULT false);
  CREATE INDEX IF NOT EXISTS orders_waiting ON orders (shard, id) WHERE NOT is_applied;
  CREATE TABLE IF NOT EXISTS accounts (account text PRIMARY KEY, cents bigint, orders int);
`;

export interface Totals {
  readonly waiting: number;
  readonly ordered: number;
  readonly booked: number;
  readonly orders: number;
  readonly bookings: number;
}

/** Orders that wait in a table, and the accounts to which they are applied. */
export class Orders implements AsyncDisposable {
  readonly store: SqlLeaseStore;
  readonly #pool: Pool;

  constructor(connectionString: string) {
    // A process that freezes in a transaction keeps its shard's fence locked. The server ends such a transaction.
    this.#pool = new Pool({ connectionString, idle_in_transaction_session_timeout: 5_000 });
    // A connection that fails. Its query rejects, and the next one opens another connection.
    const failed = (error: Error): void => console.error(`a connection has failed: ${error.message}`);
    this.#pool.on("error", failed).on("connect", (client) => void client.on("error", failed));
    this.store = new SqlLeaseStore({ postgres: connectionString });
  }

  async prepare(): Promise<void> {
    await this.store.migrate();
    await this.#pool.query(TABLES);
  }

  async add(account: string, cents: number): Promise<void> {
    const insert = "INSERT INTO orders (shard, account, cents) VALUES ($1, $2, $3)";
    await this.#pool.query(insert, [shardOf(account), account, cents]);
  }

  /**
   * Applies the next order of a shard. Returns false if none waits.
   * @throws {FencedError} if another process holds the shard, even if this one still believes that it does. Nothing is written then.
   */
  async applyNext(shard: Shard): Promise<boolean> {
    const client = await this.#pool.connect();
    try {
      await client.query("BEGIN");
      await this.store.fence(shard, client);
      const next = "SELECT id, account, cents FROM orders WHERE shard = $1 AND NOT is_applied ORDER BY id LIMIT 1";
      const { rows } = await client.query<{ id: string; account: string; cents: number }>(next, [shard.name]);
      const [order] = rows;
      if (order) {
        const book = `INSERT INTO accounts VALUES ($1, $2, 1)
          ON CONFLICT (account) DO UPDATE SET cents = accounts.cents + excluded.cents, orders = accounts.orders + 1`;
        await client.query(book, [order.account, order.cents]);
        await client.query("UPDATE orders SET is_applied = true WHERE id = $1", [order.id]);
      }
      await client.query("COMMIT");
      client.release();
      return order !== undefined;
    } catch (error) {
      // Closes the connection, which ends the transaction.
      client.release(true);
      throw error;
    }
  }

  async totals(): Promise<Totals> {
    const sums = `SELECT
      (SELECT count(*) FROM orders WHERE NOT is_applied)::int AS waiting, (SELECT count(*) FROM orders WHERE is_applied)::int AS orders,
      (SELECT coalesce(sum(cents), 0) FROM orders WHERE is_applied)::int AS ordered,
      (SELECT coalesce(sum(cents), 0) FROM accounts)::int AS booked, (SELECT coalesce(sum(orders), 0) FROM accounts)::int AS bookings`;
    const { rows } = await this.#pool.query<Totals>(sums);
    return rows[0] as Totals;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
    await this.store.close();
  }
}

/** All orders of an account are in one shard, so that they are applied in order. */
function shardOf(account: string): string {
  return String(createHash("sha256").update(account).digest().readUInt32BE() % SHARDS);
}
