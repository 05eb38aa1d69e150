/** What keeps a store from being opened, whatever its database does. */
import { SqlLeaseStore, type SqlLeaseStoreOptions } from "@leasehold/sql";
import { afterEach, describe, expect, test, vi } from "vitest";

const PASSWORD = "hush-hush-4711";

test("a server's URL is no path of a file, and its password is not shown", () => {
  const open = (): unknown => new SqlLeaseStore({ sqlite: `mysql://me:${PASSWORD}@host/db` });
  expect(open).toThrow("sqlite is the URL of a server; pass the path of a database file, or use mysql or postgres.");
  expect(open).not.toThrow(PASSWORD);
});

test.for([
  [undefined, "missing"],
  [":memory:", '":memory:"'],
  [5, "5"],
])("what is no path of a file is named: %s", ([sqlite, named]) => {
  expect(() => new SqlLeaseStore({ sqlite } as SqlLeaseStoreOptions)).toThrow(
    sqlite === undefined ? /sqlite/ : `sqlite is ${named}; it must be the path of a database file.`,
  );
});

test("options that the driver does not take are said to be that, without the URL", async () => {
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
