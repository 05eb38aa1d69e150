/** Settings by which servers lose acknowledged writes. */
import { Elector, type Logger } from "@leasehold/core";
import { describe, expect, test, vi } from "vitest";
import { settingsOf } from "../src/layout.ts";
import { mysqlWarnings } from "../src/mysql/mysql-layout.ts";
import { postgresWarnings } from "../src/postgres/postgres-layout.ts";
import { describeDatabases } from "./sql-world.ts";

const SAFE = { innodb_flush_log_at_trx_commit: "1", log_bin: "ON", sync_binlog: "1" };
const SEMI_SYNC = {
  rpl_semi_sync_master_enabled: "ON",
  rpl_semi_sync_master_timeout: "4294967295",
  rpl_semi_sync_master_wait_no_slave: "ON",
  rpl_semi_sync_master_wait_point: "AFTER_SYNC",
  rpl_semi_sync_master_status: "ON",
};

const mysql = (settings: Readonly<Record<string, string>>): string[] =>
  mysqlWarnings(new Map(Object.entries({ ...SAFE, ...settings })));

describe("mysql", () => {
  test("does not warn of settings that lose no write", () => {
    for (const settings of [{}, SEMI_SYNC, { innodb_flush_log_at_trx_commit: "3" }, { log_bin: "OFF", sync_binlog: "0" }]) {
      expect(mysql(settings)).toEqual([]);
    }
    expect(mysqlWarnings(new Map())).toEqual([]);
  });

  test.for([
    [{ innodb_flush_log_at_trx_commit: "2" }, /^innodb_flush_log_at_trx_commit is 2: .* Set it to 1\.$/],
    [{ innodb_flush_log_at_trx_commit: "0" }, /^innodb_flush_log_at_trx_commit is 0/],
    [{ sync_binlog: "0" }, /^sync_binlog is 0: .* Set it to 1\.$/],
    [{ ...SEMI_SYNC, rpl_semi_sync_master_timeout: "10000" }, /^rpl_semi_sync_master_timeout is 10000 ms: .* asynchronous/],
    [
      { ...SEMI_SYNC, rpl_semi_sync_master_wait_no_slave: "OFF" },
      /^rpl_semi_sync_master_wait_no_slave is OFF: .* Set it to ON\.$/,
    ],
    [{ ...SEMI_SYNC, rpl_semi_sync_master_wait_point: "AFTER_COMMIT" }, /AFTER_COMMIT: .* Set it to AFTER_SYNC\.$/],
    [{ ...SEMI_SYNC, rpl_semi_sync_master_status: "OFF" }, /asynchronous at present/],
    [{ rpl_semi_sync_source_enabled: "ON", rpl_semi_sync_source_timeout: "10000" }, /^rpl_semi_sync_source_timeout is 10000 ms/],
    [
      { rpl_semi_sync_source_enabled: "ON", rpl_semi_sync_source_wait_no_replica: "OFF" },
      /^rpl_semi_sync_source_wait_no_replica is OFF/,
    ],
  ] as const)("warns of %o", ([settings, says]) => {
    expect(mysql(settings)).toEqual([expect.stringMatching(says)]);
  });
});

test("mysql warns of a log whose setting the server does not show", () => {
  expect(mysqlWarnings(new Map([["log_bin", "ON"]]))).toEqual([
    expect.stringMatching(/^sync_binlog is unknown: .* Set it to 1\.$/),
  ]);
});

test("postgres warns of settings by which no write is durable", () => {
  expect(postgresWarnings(new Map([["fsync", "on"]]))).toEqual([]);
  expect(postgresWarnings(new Map([["fsync", "off"]]))).toEqual([expect.stringMatching(/^fsync is off: .* Set it to on\.$/)]);
});

test("settings are read as text or bytes, from columns of any name", () => {
  expect(settingsOf([{ Variable_name: "Sync_Binlog", Value: Buffer.from("1") }])).toEqual(new Map([["sync_binlog", "1"]]));
});

await describeDatabases(["sqlite", "mysql", "postgres"], (sqlTest, kind) => {
  sqlTest("check() tells nothing of a server that keeps what it acknowledges", async ({ world }) => {
    await expect(world.store().check({ election: world.election })).resolves.toMatchObject({ warnings: [] });
  });

  if (kind === "sqlite") return;

  sqlTest("check(), and an elector's logger as it begins, tell of settings that lose writes", async ({ world }) => {
    const [lose, keep] =
      kind === "mysql"
        ? ["SET GLOBAL innodb_flush_log_at_trx_commit = 2", "SET GLOBAL innodb_flush_log_at_trx_commit = 1"]
        : ["ALTER SYSTEM SET fsync = off", "ALTER SYSTEM RESET fsync"];
    const change = async (sql: string): Promise<void> => {
      await world.run(sql);
      if (kind === "postgres") await world.run("SELECT pg_reload_conf()");
    };
    await change(lose);
    const expected = [kind === "mysql" ? "innodb_flush_log_at_trx_commit" : "fsync"];
    const told = async (): Promise<unknown> =>
      (await world.store().check({ election: world.election })).warnings?.map((warning) => warning.split(" ", 1)[0]);
    await expect.poll(told).toEqual(expected);

    const warn = vi.fn<Logger["warn"]>();
    const logger: Logger = { debug: () => undefined, info: () => undefined, warn, error: () => undefined };
    const elector = new Elector({ store: world.store(), election: world.election, logger });
    await using _ = await elector.campaign();
    await expect.poll(() => warn.mock.calls.map(([message]) => message)).toEqual([expect.stringContaining(expected[0]!)]);
    await change(keep);
    await expect.poll(told).toEqual([]);
  });
});
