import { existsSync, realpathSync, statSync } from "node:fs";
import { ConfigurationError, type LeaseStore } from "@leasehold/core";
import type { StoreScheme, StoreSchemes, StoreUrl } from "@leasehold/core/provider";
import { SqlLeaseStore } from "./sql-lease-store.ts";
import { networkFileWarning } from "./sqlite/network-file-system.ts";
import { LEASE_FILE_SUFFIX } from "./sqlite/sqlite-files.ts";

/** A server, by a URL as the driver takes it. */
function server(driver: string, open: (url: string) => { postgres: string } | { mysql: string }): StoreScheme {
  return {
    parameters: undefined,
    packages: () => [driver],
    check: checkHost,
    open: async (url) => await Promise.resolve(new SqlLeaseStore({ ...open(withoutTable(url)), ...tableOf(url) })),
    creation,
  };
}

const postgres = server("pg", (url) => ({ postgres: url }));

/**
 * Opens a {@link SqlLeaseStore} by a URL such as `sqlite:///var/lib/app/app.db`, `postgres://host/db` or `mysql://host/db`. The
 * folder of a SQLite file must exist; the file is created. The parameter `table` is the option of that name.
 */
export const fromUrl: StoreSchemes = {
  sqlite: {
    parameters: ["table"],
    check({ authority, path }) {
      if (authority === "" && path !== "") return;
      throw new ConfigurationError("a URL of sqlite: has three slashes and an absolute path: sqlite:///var/lib/app/app.db.");
    },
    open: async (url) => await Promise.resolve(new SqlLeaseStore({ sqlite: url.file, ...tableOf(url) })),
    usage({ file }) {
      const subject = `SQLite file ${file}`;
      if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== false) return { subject, state: "missing" };
      return { subject, state: existsSync(`${realpathSync(file)}${LEASE_FILE_SUFFIX}`) ? "used" : "unused" };
    },
    localWarnings({ file }) {
      const warning = networkFileWarning(file);
      return warning === undefined ? [] : [warning];
    },
  },
  postgres,
  postgresql: postgres,
  mysql: server("mysql2", (url) => ({ mysql: url })),
};

function tableOf({ parameters }: StoreUrl): { readonly table?: string } {
  const table = parameters.get("table");
  return table === undefined ? {} : { table };
}

/** Returns the URL for the driver, which does not know the parameter `table`. */
function withoutTable({ text }: StoreUrl): string {
  return text.replace(/(?<=[?&])table=[^&]*(&|$)/, "").replace(/[?&]$/, "");
}

function creation(_: StoreUrl, store: LeaseStore): readonly string[] {
  const { migration = [] } = store as Partial<Pick<SqlLeaseStore, "migration">>;
  return migration.map((statement) => statement.replace(/;?\s*$/, ";"));
}

/** Refuses a URL without a host or with several hosts, because leases assume one primary. */
function checkHost({ scheme, authority }: StoreUrl): void {
  if (authority.includes(",")) {
    throw new ConfigurationError(`a URL of ${scheme}: names one host, the primary; this one names several.`);
  }
  if (authority !== "") return;
  throw new ConfigurationError(`a URL of ${scheme}: names a host and a database: ${scheme}://host/db.`);
}
