import { inspect } from "node:util";
import { StoreError, type StoreErrorCode } from "@leasehold/core";
import { describe, expect, test as plainTest } from "vitest";
import { mysqlMeaning } from "../src/mysql/mysql-errors.ts";
import { postgresMeaning } from "../src/postgres/postgres-errors.ts";
import { migrating, toStoreError } from "../src/sql-errors.ts";
import { sqliteMeaning } from "../src/sqlite/sqlite-errors.ts";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { failureOf } from "@leasehold/test-kit/failure";
import { describeDatabases, SERVERS, type SqlWorld } from "./sql-world.ts";

const PASSWORD = "hush-hush-4711";

/** Returns the world's URL with a change. */
function urlOf(world: SqlWorld, change: (url: URL) => void): string {
  const url = new URL(world.place);
  change(url);
  return String(url);
}

/** Returns everything that is shown if the error is printed with all of its properties. */
function shown(error: unknown): string {
  return `${inspect(error, { depth: 20, showHidden: true, getters: true })}\n${String(error)}\n${JSON.stringify(error)}`;
}

/** Returns the URL of an account without rights, or with the given ones. */
async function account(world: SqlWorld, name: string, rights = ""): Promise<string> {
  const on = ["leasehold_leases", "leasehold_fences"];
  if (world.kind === "mysql") {
    await world.run(`CREATE OR REPLACE USER '${name}'@'%' IDENTIFIED BY '${PASSWORD}'`);
    await world.run(`GRANT USAGE ON *.* TO '${name}'@'%'`);
    await world.run(`GRANT SHOW VIEW ON leasehold.* TO '${name}'@'%'`);
    for (const table of rights ? on : []) await world.run(`GRANT ${rights} ON leasehold.${table} TO '${name}'@'%'`);
  } else {
    for (const table of on)
      await world.run(`DO $$ BEGIN REVOKE ALL ON ${table} FROM ${name}; EXCEPTION WHEN OTHERS THEN NULL; END $$`);
    await world.run(`DROP ROLE IF EXISTS ${name}`);
    await world.run(`CREATE ROLE ${name} LOGIN PASSWORD '${PASSWORD}'`);
    for (const table of rights ? on : []) await world.run(`GRANT ${rights} ON ${table} TO ${name}`);
  }
  return urlOf(world, (url) => {
    url.username = name;
    url.password = PASSWORD;
  });
}

interface Real {
  readonly code: StoreErrorCode;
  readonly says?: RegExp;
  /** Returns the store's place, after it has arranged the failure there. */
  readonly arrange: (world: SqlWorld) => Promise<string>;
}

const REAL: Readonly<Record<string, Real>> = {
  "nobody listens": {
    code: "STORE_UNAVAILABLE",
    says: /ECONNREFUSED/,
    arrange: async (world) => {
      const port = String(await freePort());
      return urlOf(world, (url) => Object.assign(url, { port, password: PASSWORD }));
    },
  },
  "there is no such host": {
    code: "STORE_UNAVAILABLE",
    arrange: async (world) => urlOf(world, (url) => Object.assign(url, { hostname: "nowhere.invalid", password: PASSWORD })),
  },
  "there is no such database": {
    code: "STORE_MISSING",
    says: /Create the database first/,
    arrange: async (world) => urlOf(world, (url) => Object.assign(url, { pathname: "/nothing" })),
  },
  "the account may do nothing": {
    code: "STORE_DENIED",
    says: /SELECT, INSERT and UPDATE/,
    arrange: (world) => account(world, "nobody_at_all"),
  },
  "the account may only read": { code: "STORE_DENIED", arrange: (world) => account(world, "reader", "SELECT") },
  "the account does not exist, or its password is wrong": {
    code: "STORE_UNAUTHENTICATED",
    says: /Check the user and the password/,
    arrange: async (world) => urlOf(world, (url) => Object.assign(url, { username: "stranger", password: PASSWORD })),
  },
};

await describeDatabases(SERVERS, (test, kind) => {
  test.for(Object.entries(REAL))("when %s", async ([name, { code, says, arrange }], { world }) => {
    const place = await arrange(world);
    const store = world.store(place);
    const readable = name === "the account may only read";
    const calls = [() => store.acquire(world.acquiring()), ...(readable ? [] : [() => store.read(world.election)])];
    for (const call of calls) {
      const error = await failureOf(call());
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({ code, mayHaveBeenApplied: false, store: kind, election: world.election });
      expect(error.message).toMatch(says ?? /\S/);
      expect(shown(error)).not.toContain(PASSWORD);
    }
    if (readable) await expect(store.read(world.election)).resolves.toBeUndefined();
    // The same holds if the driver's own error is passed on.
    if (!readable) expect(shown(await failureOf(world.store(place).migrate()))).not.toContain(PASSWORD);
  });

  test("when nothing was migrated", async ({ world }) => {
    await world.run(kind === "mysql" ? "CREATE DATABASE IF NOT EXISTS bare" : "CREATE SCHEMA IF NOT EXISTS bare");
    const place = urlOf(world, (url) => {
      if (kind === "mysql") url.pathname = "/bare";
      else url.searchParams.set("options", "-c search_path=bare");
    });
    const store = world.store(place);
    for (const call of [() => store.acquire(world.acquiring()), () => store.read(world.election)]) {
      const error = await failureOf(call());
      expect(error).toMatchObject({ code: "STORE_MISSING", mayHaveBeenApplied: false });
      expect(error.message).toContain("migrate()");
    }
    await store.migrate();
    await expect(world.win(store)).resolves.toMatchObject({ term: 1 });
  });

  test("when the server takes no writes, as a replica", async ({ world }) => {
    const store = world.store(await account(world, "candidate", "SELECT, INSERT, UPDATE"));
    await world.win(world.store());
    await store.read(world.election);
    const lease = await world.win(store, { election: `${world.election} 2` });
    // Makes the whole server read-only for accounts that are not administrators.
    await world.run(
      kind === "mysql" ? "SET GLOBAL read_only = 1" : "ALTER ROLE candidate SET default_transaction_read_only = on",
    );
    try {
      const fresh = world.store(urlOf(world, (url) => Object.assign(url, { username: "candidate", password: PASSWORD })));
      const error = await failureOf(fresh.acquire(world.acquiring({ election: `${world.election} 3` })));
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
      await expect(fresh.read(world.election)).resolves.toMatchObject({ term: 1 });
    } finally {
      await world.run(kind === "mysql" ? "SET GLOBAL read_only = 0" : "ALTER ROLE candidate RESET default_transaction_read_only");
    }
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("when the server's own limit of waiting for a lock is shorter", async ({ world }) => {
    const lease = await world.win(world.store());
    const session = await world.session();
    await session.run("BEGIN");
    await session.run("UPDATE leasehold_leases SET term = term WHERE election = ?", [world.name()]);
    const limited =
      kind === "mysql" ? world.place : urlOf(world, (url) => url.searchParams.set("options", "-c lock_timeout=100"));
    if (kind === "mysql") await world.run("SET GLOBAL innodb_lock_wait_timeout = 1");
    try {
      const error = await failureOf(world.store(limited).break(world.election, { reason: "r", ifTerm: lease.term, ...LIMITS }));
      expect(error).toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
    } finally {
      if (kind === "mysql") await world.run("SET GLOBAL innodb_lock_wait_timeout = 50");
      await session.run("ROLLBACK");
    }
  });

  test("when there are too many connections", async ({ world }) => {
    const place = await account(world, "crowded", "SELECT, INSERT, UPDATE");
    await world.run(
      kind === "mysql" ? "ALTER USER 'crowded'@'%' WITH MAX_USER_CONNECTIONS 1" : "ALTER ROLE crowded CONNECTION LIMIT 1",
    );
    await world.session(place);
    const error = await failureOf(world.store(place).acquire(world.acquiring()));
    expect(error).toMatchObject({ code: "STORE_THROTTLED", mayHaveBeenApplied: false });
    expect(shown(error)).not.toContain(PASSWORD);
  });

  test("when the columns are wrong", async ({ world }) => {
    await world.run(kind === "mysql" ? "CREATE DATABASE IF NOT EXISTS odd" : "CREATE SCHEMA IF NOT EXISTS odd");
    await world.run("DROP TABLE IF EXISTS odd.leasehold_leases");
    await world.run("CREATE TABLE odd.leasehold_leases (election VARCHAR(99))");
    const place = urlOf(world, (url) => {
      if (kind === "mysql") url.pathname = "/odd";
      else url.searchParams.set("options", "-c search_path=odd");
    });
    await expect(world.store(place).read(world.election)).rejects.toMatchObject({
      code: "STORE_REJECTED",
      mayHaveBeenApplied: false,
    });
  });

  test("no error of a write shows its nonce, its termId, its version or its value", async ({ world }) => {
    const place = await account(world, "reader_too", "SELECT");
    const store = world.store();
    const lease = await world.win(store, { value: "the-value-of-it" });
    const { nonce, version } = (await world.leaseRow()) ?? {};
    const failures = [
      await failureOf(world.store(place).break(world.election, { reason: "the-reason", ...LIMITS })),
      await failureOf(world.store(place).transfer(world.election, "b", LIMITS)),
    ];
    await world.run("UPDATE leasehold_leases SET term = -1, version = 'edited' WHERE election = ?", [world.name()]);
    failures.push(await failureOf(store.renew(lease, LIMITS)));
    for (const error of failures) {
      for (const secret of [lease.termId, String(nonce), String(version), "the-value-of-it", "the-reason", PASSWORD]) {
        expect(shown(error)).not.toContain(secret);
        expect(shown(error)).not.toContain(Buffer.from(secret).toString("hex"));
      }
    }
  });
});

type Case = readonly [given: object, code: StoreErrorCode, applied: boolean];

/** A driver's error, with the properties that drivers attach. */
function driverError(given: object): Error {
  return Object.assign(
    new Error("it went wrong\nDETAIL: a-nonce"),
    { sql: "UPDATE … a-nonce", parameters: ["a-nonce"], detail: "a-nonce" },
    given,
  );
}

function check(meaningOf: typeof mysqlMeaning, [given, code, applied]: Case): void {
  const label = { store: "s", operation: "put", election: "e", writes: true };
  const error = toStoreError(driverError(given), label, meaningOf);
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code, mayHaveBeenApplied: applied, store: "s", operation: "put", election: "e" });
  expect(error.message).toMatch(/^s: 'put' of 'e' failed: .*it went wrong\./);
  expect(shown(error)).not.toContain("a-nonce");
  expect(toStoreError(driverError(given), { ...label, writes: false }, meaningOf)).toMatchObject({ mayHaveBeenApplied: false });
}

describe("what an error of mysql2 means", () => {
  const of = (errno: number): object => ({ errno, code: `ER_${errno}`, sqlState: "HY000" });
  const CASES: readonly Case[] = [
    ...[1205, 1213, 3572].map((errno): Case => [of(errno), "STORE_CONFLICT", false]),
    ...[1045, 1698, 3118, 4151].map((errno): Case => [of(errno), "STORE_UNAUTHENTICATED", false]),
    ...[1044, 1142, 1143, 1227].map((errno): Case => [of(errno), "STORE_DENIED", false]),
    ...[1049, 1146].map((errno): Case => [of(errno), "STORE_MISSING", false]),
    ...[1040, 1203, 1226].map((errno): Case => [of(errno), "STORE_THROTTLED", false]),
    ...[1290, 1836].map((errno): Case => [of(errno), "STORE_UNAVAILABLE", false]),
    ...[1054, 1064, 1366, 1406].map((errno): Case => [of(errno), "STORE_REJECTED", false]),
    [of(1317), "STORE_TIMEOUT", true],
    [{ code: "ETIMEDOUT", errno: -110 }, "STORE_TIMEOUT", true],
    [{ code: "ECONNREFUSED", errno: -111 }, "STORE_UNAVAILABLE", false],
    [{ code: "ENOTFOUND", errno: -3008 }, "STORE_UNAVAILABLE", false],
    [{ code: "EAI_AGAIN" }, "STORE_UNAVAILABLE", false],
    [{ code: "ECONNRESET", errno: -104 }, "STORE_UNAVAILABLE", true],
    [{ code: "EPIPE" }, "STORE_UNAVAILABLE", true],
    [{ code: "PROTOCOL_CONNECTION_LOST", fatal: true }, "STORE_UNAVAILABLE", true],
    [of(1053), "STORE_UNAVAILABLE", true],
    [of(9999), "STORE_UNAVAILABLE", true],
    [{}, "STORE_UNAVAILABLE", true],
  ];
  plainTest.for(CASES)("%o is %s; carried out, perhaps: %s", (it) => check(mysqlMeaning, it));
});

describe("what an error of pg means", () => {
  const of = (code: string): object => ({ code, severity: "ERROR" });
  const CASES: readonly Case[] = [
    ...["40001", "40P01", "55P03"].map((code): Case => [of(code), "STORE_CONFLICT", false]),
    ...["28P01", "28000"].map((code): Case => [of(code), "STORE_UNAUTHENTICATED", false]),
    [of("42501"), "STORE_DENIED", false],
    ...["42P01", "3D000", "3F000"].map((code): Case => [of(code), "STORE_MISSING", false]),
    ...["53300", "53200", "53100"].map((code): Case => [of(code), "STORE_THROTTLED", false]),
    [of("25006"), "STORE_UNAVAILABLE", false],
    ...["21000", "22P05", "22001", "42P10", "42703", "42601", "23502", "23505", "23514"].map((code): Case => [
      of(code),
      "STORE_REJECTED",
      false,
    ]),
    [of("57014"), "STORE_TIMEOUT", true],
    ...["57P01", "57P02", "57P03", "58030", "XX000", "40003", "08006"].map((code): Case => [of(code), "STORE_UNAVAILABLE", true]),
    [{ code: "ECONNREFUSED" }, "STORE_UNAVAILABLE", false],
    [{ code: "ENOTFOUND" }, "STORE_UNAVAILABLE", false],
    [{ code: "ECONNRESET" }, "STORE_UNAVAILABLE", true],
    [{ code: "42501" }, "STORE_UNAVAILABLE", true],
    [{}, "STORE_UNAVAILABLE", true],
  ];
  plainTest.for(CASES)("%o is %s; carried out, perhaps: %s", (it) => check(postgresMeaning, it));
});

describe("what an error of node:sqlite means", () => {
  const of = (errcode: number): object => ({ errcode, code: "ERR_SQLITE_ERROR" });
  const CASES: readonly Case[] = [
    ...[5, 261, 517, 6, 262].map((errcode): Case => [of(errcode), "STORE_CONFLICT", false]),
    ...[3, 8, 23, 264, 776].map((errcode): Case => [of(errcode), "STORE_DENIED", false]),
    ...[14, 270].map((errcode): Case => [of(errcode), "STORE_MISSING", false]),
    [of(26), "STORE_REJECTED", false],
    ...[1, 11].map((errcode): Case => [of(errcode), "STORE_UNAVAILABLE", false]),
    // The disk failed, and the write may be on it.
    ...[10, 13, 778, 266].map((errcode): Case => [of(errcode), "STORE_UNAVAILABLE", true]),
  ];
  plainTest.for(CASES)("%o is %s; carried out, perhaps: %s", (it) => check(sqliteMeaning, it));
});

plainTest("whatever was thrown is an error of the store's", () => {
  const label = { store: "mysql", operation: "put", election: "e", writes: true };
  for (const meaningOf of [mysqlMeaning, postgresMeaning, sqliteMeaning]) {
    for (const thrown of [undefined, null, "a text"]) {
      expect(toStoreError(thrown, label, meaningOf)).toMatchObject({
        code: "STORE_UNAVAILABLE",
        message: `mysql: 'put' of 'e' failed: ${thrown}.`,
        mayHaveBeenApplied: true,
      });
    }
  }
});

plainTest.for([
  "Cannot use a pool after calling end on the pool",
  "Pool is closed.",
  "PGlite is closed",
  "database is not open",
  "The database connection is not open",
])("'%s' is a refusal, so that it ends no elector; a write may have been sent", (message) => {
  for (const writes of [true, false]) {
    const label = { store: "postgres", operation: "put", election: "e", writes, blockers: undefined };
    const error = toStoreError(new Error(message), label, () => undefined);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code: "STORE_REJECTED", store: "postgres", operation: "put", mayHaveBeenApplied: writes });
    expect(error.message).toMatch(/^postgres: 'put' of 'e' failed: The handle .* is closed\. .* open one\.$/);
  }
});

plainTest("a driver's code is told once, and kept on the cause", () => {
  const label = { store: "mysql", operation: "get", election: undefined, writes: false };
  const failure = (message: string, code?: unknown) =>
    toStoreError(Object.assign(new Error(message), code === undefined ? {} : { code }), label, () => undefined);

  expect(failure("it went wrong", "EPIPE")).toMatchObject({
    message: "mysql: 'get' failed: EPIPE: it went wrong.",
    cause: { message: "it went wrong", code: "EPIPE" },
  });
  expect(failure("write EPIPE", "EPIPE").message).toBe("mysql: 'get' failed: write EPIPE.");
  for (const code of [undefined, 5]) {
    const { message, cause } = failure("it went wrong", code);
    expect(message).toBe("mysql: 'get' failed: it went wrong.");
    expect(cause).not.toHaveProperty("code");
  }
});

plainTest("an error of ours is passed on as it is", () => {
  const ours = new StoreError("STORE_CONFLICT", "ours", { store: "s", operation: "put", mayHaveBeenApplied: false });
  const label = { store: "s", operation: "put", election: "e", writes: true };
  expect(toStoreError(ours, label, mysqlMeaning)).toBe(ours);
});

plainTest("a migration that got no answer may have been carried out, and one that was denied has not", async () => {
  const failed = migrating("mysql", mysqlMeaning, () => Promise.reject(new Error("gone")));
  await expect(failed).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", operation: "migrate", mayHaveBeenApplied: true });
  const denied = migrating("mysql", mysqlMeaning, () => Promise.reject(Object.assign(new Error("no"), { errno: 1142 })));
  await expect(denied).rejects.toMatchObject({
    code: "STORE_DENIED",
    mayHaveBeenApplied: false,
    message: expect.stringContaining("migrate() needs the right to create tables"),
  });
  // An error of migrate() does not advise to call migrate().
  const missing = migrating("mysql", mysqlMeaning, () => Promise.reject(Object.assign(new Error("no"), { errno: 1146 })));
  await expect(missing).rejects.toMatchObject({ code: "STORE_MISSING", message: "mysql: 'migrate' failed: no." });
  const nowhere = migrating("mysql", mysqlMeaning, () => Promise.reject(Object.assign(new Error("no"), { errno: 1049 })));
  await expect(nowhere).rejects.toMatchObject({ message: expect.stringContaining("Create the database first") });
});
