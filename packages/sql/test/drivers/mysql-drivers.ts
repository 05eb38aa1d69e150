import { createPool } from "mariadb";
import type { MySqlDriver } from "../mysql-place.ts";

export const MARIADB: MySqlDriver = {
  name: "mariadb",
  open: ({ host, port, database }) => {
    // A connection that was idle for longer than this is first sent a ping, and the reply that a case loses would be that one's.
    const minDelayValidation = 600_000;
    const limits = { connectionLimit: 4, acquireTimeout: 60_000, minDelayValidation };
    const pool = createPool({ host, port, database, user: "root", ...limits });
    return { handle: pool, [Symbol.asyncDispose]: () => pool.end().catch(() => undefined) };
  },
};
