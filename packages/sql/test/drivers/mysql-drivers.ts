import { createPool } from "mariadb";
import type { MySqlDriver } from "../mysql-place.ts";

export const MARIADB: MySqlDriver = {
  name: "mariadb",
  open: ({ host, port, database }) => {
    const pool = createPool({ host, port, database, user: "root", connectionLimit: 4, acquireTimeout: 60_000 });
    return { handle: pool, [Symbol.asyncDispose]: () => pool.end().catch(() => undefined) };
  },
};
