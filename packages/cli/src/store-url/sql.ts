import { existsSync, realpathSync } from "node:fs";
import { ConfigurationError, type LeaseStore } from "@leasehold/core";
import type { SqlLeaseStore, SqlLeaseStoreOptions } from "@leasehold/sql";
import { EXIT } from "../exit-codes.ts";
import { CommandError } from "../command-error.ts";
import { oneLine } from "../text.ts";
import { loadProvider } from "./provider.ts";
import type { StoreKind, StorePlace } from "./store-kind.ts";
import type { StoreUrl } from "./store-url.ts";

type SqlModule = typeof import("@leasehold/sql");

/** A SQLite file on a local disk. Its folder must exist; the file is created. */
export const sqlite: StoreKind = {
  example: "sqlite:///var/lib/app/app.db",
  parameters: [],
  check({ authority, path }) {
    if (authority === "" && path !== "") return;
    throw new ConfigurationError("a URL of sqlite: has three slashes and an absolute path: sqlite:///var/lib/app/app.db.");
  },
  open: async ({ path }, place) => await openSql({ sqlite: fileOf(path) }, place),
  async checkUsed({ path }, place) {
    const { module } = await loadProvider<SqlModule>("@leasehold/sql", place);
    const file = fileOf(path);
    if (!existsSync(file)) {
      throw new CommandError(
        EXIT.configuration,
        `there is no SQLite file ${file}; is that its path? run, serve and migrate make it.`,
      );
    }
    if (existsSync(`${realpathSync(file)}${module.LEASE_FILE_SUFFIX}`)) return;
    throw new CommandError(EXIT.nobodyLeads, `nobody has ever led with the SQLite file ${file}; is that its path?`);
  },
  async localWarnings({ path }, place) {
    const { module } = await loadProvider<SqlModule>("@leasehold/sql", place);
    const warning = module.networkFileWarning(fileOf(path));
    return warning === undefined ? [] : [warning];
  },
};

/** A PostgreSQL server, by a URL as `pg` takes it. */
export const postgres: StoreKind = {
  example: "postgres://host/db",
  parameters: undefined,
  check: ({ authority }) => checkHost("postgres", authority),
  open: async ({ text }, place) => await openSql({ postgres: text }, place, ["pg"]),
  creation,
};

/** A MySQL or MariaDB server, by a URL as `mysql2` takes it. */
export const mysql: StoreKind = {
  example: "mysql://host/db",
  parameters: undefined,
  check: ({ authority }) => checkHost("mysql", authority),
  open: async ({ text }, place) => await openSql({ mysql: text }, place, ["mysql2"]),
  creation,
};

function fileOf(path: string): string {
  return process.platform === "win32" ? path : `/${path}`;
}

function creation(_: StoreUrl, store: LeaseStore): readonly string[] {
  const { migration = [] } = store as Partial<Pick<SqlLeaseStore, "migration">>;
  return migration.map((statement) => `${oneLine(statement).replace(/;$/, "")};`);
}

async function openSql(
  options: SqlLeaseStoreOptions,
  place: StorePlace,
  drivers: readonly string[] = [],
): ReturnType<StoreKind["open"]> {
  const { module } = await loadProvider<SqlModule>("@leasehold/sql", place, drivers);
  return new module.SqlLeaseStore(options);
}

/** Refuses a URL without a host or with several hosts, because leases assume one primary. */
function checkHost(scheme: string, authority: string): void {
  if (authority.includes(",")) {
    throw new ConfigurationError(`a URL of ${scheme}: names one host, the primary; this one names several.`);
  }
  if (authority !== "") return;
  throw new ConfigurationError(`a URL of ${scheme}: names a host and a database: ${scheme}://host/db.`);
}
