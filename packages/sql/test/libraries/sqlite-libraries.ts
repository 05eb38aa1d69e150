import BetterSqlite from "better-sqlite3";
import Libsql from "libsql";
import type { ClosableHandle, SqliteLibrary } from "../sqlite-place.ts";

export const BETTER_SQLITE: SqliteLibrary = {
  name: "better-sqlite3",
  open: (path) => new BetterSqlite(path) as unknown as ClosableHandle,
};

export const LIBSQL: SqliteLibrary = { name: "libsql", open: (path) => new Libsql(path) as unknown as ClosableHandle };
