import { SqlLeaseStore } from "@leasehold/sql";

const { DATABASE_URL: postgres, SQLITE_FILE: file, NODE_ENV: environment } = process.env;

/** Opens PostgreSQL, for processes on many machines, or a SQLite file, for the processes of one. */
export function openStore(): SqlLeaseStore {
  if (postgres) return new SqlLeaseStore({ postgres });
  if (file) return new SqlLeaseStore({ sqlite: file });
  // In containers each process would have its own file, and so its own leader.
  if (environment === "production") throw new Error("Set DATABASE_URL, or SQLITE_FILE to a file that all processes share.");
  return new SqlLeaseStore({ sqlite: "worker.db" });
}
