/** Handles that look like a pool of MySQL, and are none. */
import { createPoolCluster } from "mariadb";
import { createPool } from "mariadb/callback";
import { expect, test } from "vitest";
import { poolOrUrl } from "../src/mysql/mysql-handles.ts";
import { rowOrEnd } from "../src/mysql/row-or-end.ts";

test("a PoolCluster of mariadb is refused", async () => {
  const cluster = createPoolCluster();
  expect(() => poolOrUrl(cluster)).toThrow(/This is a PoolCluster/);
  await cluster.end();
});

test("a pool of mariadb with callbacks is refused", () => {
  const pool = createPool({ host: "127.0.0.1", port: 1, minimumIdle: 0 });
  expect(() => poolOrUrl(pool)).toThrow(/This is a pool of mariadb\/callback/);
  pool.end(() => undefined);
});

test("a pool of an old mariadb is refused, and not taken for one of mysql2", () => {
  const pool = { getConnection: () => undefined, query: () => undefined, taskQueueSize: () => 0, end: () => undefined };
  expect(() => poolOrUrl(pool)).toThrow(/This is a pool of a mariadb before 3\.2/);
});

test("fence() on an ORM's object names fenceSql(), and leaves no rejection behind", async () => {
  const manager = { query: () => Promise.reject(new TypeError("sql.trim is not a function")) };
  await expect(rowOrEnd(manager as never, {}, () => true)).rejects.toThrow(/use fenceSql\(\) instead/);
});
