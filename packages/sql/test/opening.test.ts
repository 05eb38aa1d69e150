/** Errors that prevent a store from being opened, with any database. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigurationError } from "@leasehold/core";
import type { StoreUrl, StoreUrlContext } from "@leasehold/core/provider";
import { Client, Pool } from "pg";
import { fromUrl, SqlLeaseStore, type SqlLeaseStoreOptions } from "@leasehold/sql";
import { afterEach, describe, expect, test, vi } from "vitest";

const PASSWORD = "hush-hush-4711";

test.for([`mysql://me:${PASSWORD}@host/db`, `libsql://host?authToken=${PASSWORD}`, `sqlite:///app.db?key=${PASSWORD}`])(
  "the URL %s is refused as the path of a file, and its password is not shown",
  (sqlite) => {
    const open = (): unknown => new SqlLeaseStore({ sqlite });
    expect(open).toThrow("sqlite is a URL; pass the path of a database file. For a server use mysql or postgres");
    expect(open).not.toThrow(PASSWORD);
  },
);

test.for([
  [":memory:", 'sqlite is ":memory:"; it must be the path of a database file.'],
  [5, "sqlite is 5; it must be the path of a database file, an open DatabaseSync of node:sqlite, or a handle of"],
  [{ authToken: "hush", execute: () => 0 }, /^sqlite is an object without exec and prepare; it must be [a-zA-Z0-9:, -]+\.$/],
  [Object.assign(() => 0, { exec: () => 0 }), "sqlite is a function without prepare; it must be"],
] as const)("what is no path of a file, and no handle, is named, without its content: %o", ([sqlite, message]) => {
  expect(() => new SqlLeaseStore({ sqlite } as unknown as SqlLeaseStoreOptions)).toThrow(message);
});

test.for<[options: object | undefined, message: string]>([
  [{}, "it was given none."],
  [{ sqlite: undefined }, "sqlite is undefined. If it comes from the environment, set its variable."],
  [{ postgres: undefined }, "postgres is undefined. If it comes from the environment, set its variable."],
  [{ sqlite: "a.db", postgres: "postgres://u@h/d" }, "it was given sqlite and postgres."],
  [{ sqlite: "a.db", mysql: "mysql://u@h/d", postgres: {} }, "it was given sqlite and mysql and postgres."],
  [{ sqlit: "a.db" }, "SqlLeaseStore has no option 'sqlit'. Was 'sqlite' meant?"],
  [undefined, "SqlLeaseStore needs its options, an object."],
])("options that do not name one database say what was given: %o", ([options, message]) => {
  expect(() => new SqlLeaseStore(options as SqlLeaseStoreOptions)).toThrow(message);
});

test.for([
  ["ends the host early by a slash", "me/7@host/db"],
  ["ends the host early by a hash", "me#7@host/db"],
  ["has a % that encodes nothing", "me:50%@host/db"],
  ["is no URL", "me:7@ho st/db"],
])("a URL that %s is refused, and nothing of it is shown", ([, rest]) => {
  for (const kind of ["mysql", "postgres"]) {
    const open = (): unknown => new SqlLeaseStore({ [kind]: `${kind}://${rest}` } as unknown as SqlLeaseStoreOptions);
    expect(open).toThrow(new RegExp(`^${kind} is a URL that cannot be read\\..*percent-encode`));
    expect(open).not.toThrow("host/db");
  }
});

test("options that the driver refuses are an error without the URL", async () => {
  await using store = new SqlLeaseStore({ mysql: `mysql://me:${PASSWORD}@127.0.0.1:1/db?ssl=no-such-profile` });
  await expect(store.read("e")).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: "mysql is a URL with options that mysql2 does not take; see its documentation.",
  });
});

describe("without the driver's package", () => {
  afterEach(() => {
    vi.doUnmock("mysql2/promise");
    vi.doUnmock("pg");
  });

  test.for([
    ["mysql2/promise", { mysql: "mysql://me@127.0.0.1:1/db" }, "mysql needs the package mysql2: install it."],
    ["pg", { postgres: "postgres://me@127.0.0.1:1/db" }, "postgres needs the package pg: install it."],
  ] as const)("%s, people are told to install it", async ([name, options, message]) => {
    vi.doMock(name, () => {
      throw new Error(`Cannot find package '${name}'`);
    });
    await using store = new SqlLeaseStore(options);
    await expect(store.read("e")).rejects.toMatchObject({ code: "CONFIGURATION", message });
  });
});

test.for([
  { mysql: "postgres://u:hush@h/d" },
  { mysql: "" },
  { mysql: {} },
  { mysql: null },
  { mysql: 5 },
  { postgres: "mysql://u:hush@h/d" },
  { postgres: {} },
  { postgres: null },
  { postgres: "host=h password=hush" },
  { postgres: new Client() },
  { postgres: { connect: () => undefined } },
  { postgres: { end: () => undefined } },
] as readonly unknown[] as readonly SqlLeaseStoreOptions[])(
  "%o is refused at construction, without a word of a password",
  (options) => {
    let error: unknown;
    try {
      const store = new SqlLeaseStore(options);
      void store.close();
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ConfigurationError);
    expect((error as Error).message).not.toContain("hush");
  },
);

test.for<[options: object, advice: RegExp]>([
  [{ mysql: new Pool() }, /This is a handle of PostgreSQL: use the option postgres\.$/],
  [{ mysql: { query: () => 0, beginTransaction: () => 0 } }, /This is a single connection: give the store a pool\.$/],
  [{ postgres: new Client() }, /This is a single Client, which has one connection: give the store a Pool\.$/],
  [{ postgres: { getConnection: () => 0, end: () => 0 } }, /This is a pool of MySQL or MariaDB: use the option mysql\.$/],
])("a handle of the wrong kind is told what to give instead: %o", ([options, advice]) => {
  expect(() => new SqlLeaseStore(options as SqlLeaseStoreOptions)).toThrow(advice);
});

test.for(["sqlite", "postgres", "postgresql", "mysql"])(
  "a URL of %s names the table, or leaves the default one",
  async (scheme) => {
    for (const [query, parameters, table] of [
      ["", new Map(), "leasehold_leases"],
      ["?table=rota", new Map([["table", "rota"]]), "rota"],
    ] as const) {
      const url = { text: `${scheme}://u@h/d${query}`, file: "/app.db", parameters } as unknown as StoreUrl;
      await using store = await fromUrl[scheme]!.open(url, {} as StoreUrlContext);
      expect((store as SqlLeaseStore).migration.join("\n").replaceAll(/[`"]/g, "")).toContain(`EXISTS ${table} (`);
    }
  },
);

test("a URL of SQLite tells whether its file is missing, or was used by a store", ({ onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), "usage-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "app.db");
  const usage = (): unknown => fromUrl["sqlite"]?.usage?.({ file } as StoreUrl);
  expect(usage()).toEqual({ subject: `SQLite file ${file}`, state: "missing" });
  writeFileSync(file, "");
  expect(usage()).toMatchObject({ state: "unused" });
  writeFileSync(`${file}-leasehold`, "");
  expect(usage()).toMatchObject({ state: "used" });
});
