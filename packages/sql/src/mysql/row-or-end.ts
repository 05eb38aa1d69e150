import type { EventEmitter } from "node:events";
import { ConfigurationError } from "@leasehold/core";
import type { Row } from "../schema.ts";
import type { MySqlConnection } from "./mysql-pool.ts";

/** A connection of `mysql2` with callbacks; one with promises has it as `connection`. */
interface CallbackConnection {
  query(options: object): EventEmitter;
  destroy(): void;
}

/**
 * Sends a query that finds one row, and returns that. Where the row does not pass, or the query fails, the connection is ended in the same
 * turn. The driver sends one statement at a time. So nothing that a caller has sent meanwhile, a COMMIT least of all, reaches the
 * server, and the server rolls the transaction back. A failed query needs that too: after a lock timeout the server goes on with the
 * transaction, and after a deadlock the next write commits by itself.
 */
export async function rowOrEnd(connection: MySqlConnection, options: object, passes: (row: Row) => boolean): Promise<Row> {
  const core = ((connection as { readonly connection?: unknown }).connection ?? connection) as CallbackConnection;
  return await new Promise((resolve, reject) => {
    // An event, since a callback comes a turn later.
    const query = core.query(options) as Partial<EventEmitter> & EventEmitter;
    if (typeof query?.once !== "function") throw new ConfigurationError("fence() needs a connection of mysql2, as it is.");
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
