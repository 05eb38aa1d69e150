import type { EventEmitter } from "node:events";
import { ConfigurationError } from "@leasehold/core";
import type { Row } from "../schema.ts";
import type { MySqlConnection } from "./mysql-driver.ts";

/** A connection of `mysql2` with callbacks. A connection with promises has it as `connection`. */
interface CallbackConnection {
  query(options: object): EventEmitter;
  destroy(): void;
}

/**
 * Sends a query that finds one row, and returns that row. If the row does not pass, or the query fails, ends the connection in
 * the same turn.
 *
 * The driver sends one statement at a time. So no statement that a caller has sent meanwhile reaches the server, in particular no
 * COMMIT. The server rolls the transaction back. A failed query needs that too. After a lock timeout the server would continue
 * the transaction; after a deadlock the next write would commit by itself.
 */
export async function rowOrEnd(connection: MySqlConnection, options: object, passes: (row: Row) => boolean): Promise<Row> {
  const core = ((connection as { readonly connection?: unknown }).connection ?? connection) as CallbackConnection;
  return await new Promise((resolve, reject) => {
    // A listener for the event, because a callback is called one turn later.
    const query = core.query(options) as Partial<EventEmitter> & EventEmitter;
    if (typeof query?.once !== "function") {
      // An ORM answers with a promise.
      Promise.resolve(query).catch(() => undefined);
      throw new ConfigurationError(
        "fence() needs a connection of mysql2, as it is. In a transaction of an ORM, use fenceSql() instead.",
      );
    }
    query.once("error", (error) => {
      core.destroy();
      reject(error);
    });
    query.once("result", (row: Row) => {
      if (!passes(row)) core.destroy();
      resolve(row);
    });
  });
}
