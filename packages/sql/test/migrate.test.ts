import { readFile } from "node:fs/promises";
import { Elector } from "@leasehold/core";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { ALL, describeDatabases, SERVERS, type Kind, type Session, type SqlWorld } from "./sql-world.ts";

/** Makes an empty place on the server, and returns it. */
async function bare(world: SqlWorld, name: string): Promise<string> {
  const url = new URL(world.place);
  await world.run(world.kind === "mysql" ? `CREATE DATABASE ${name}` : `CREATE SCHEMA ${name}`);
  if (world.kind === "mysql") url.pathname = `/${name}`;
  else url.searchParams.set("options", `-c search_path=${name}`);
  return String(url);
}

/** Returns every column there, as the server describes it. */
async function columns(world: SqlWorld, name: string): Promise<readonly unknown[]> {
  return await world.run(
    `SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length, collation_name
     FROM information_schema.columns WHERE table_schema = '${name}' ORDER BY table_name, ordinal_position`,
  );
}

/** Returns the URL of an account with these rights on the tables, and no others. */
async function as(world: SqlWorld, name: string, rights: string): Promise<string> {
  const tables = ["leasehold_leases", "leasehold_fences", "leasehold_occurrences"];
  // Accounts belong to the whole server, which other test files use too.
  const account = `migration_${name}`;
  if (world.kind === "mysql") await world.run(`CREATE USER '${account}'@'%'`);
  else await world.run(`CREATE ROLE ${account} LOGIN`);
  for (const table of tables) {
    await world.run(
      world.kind === "mysql"
        ? `GRANT ${rights} ON leasehold.${table} TO '${account}'@'%'`
        : `GRANT ${rights} ON ${table} TO ${account}`,
    );
  }
  const url = new URL(world.place);
  url.username = account;
  return String(url);
}

await describeDatabases(ALL, (test) => {
  test("it can be repeated, and does not change existing tables", async ({ world }) => {
    const store = world.store();
    await store.migrate();
    const lease = await world.win(store);
    await store.migrate();
    await world.store().migrate();
    expect(await world.leaseRow()).toMatchObject({ term: 1, term_id: lease.termId });
    for (const statement of store.migration) {
      expect(statement).toMatch(/^CREATE TABLE IF NOT EXISTS leasehold_(leases|fences|guards|occurrences) \(/);
      expect(statement).not.toMatch(/;|DROP/);
    }
    expect(store.migration).toHaveLength(world.kind === "sqlite" ? 4 : 3);
  });
});

await describeDatabases(ALL, (test, kind) => {
  test("tables of another version are an error that names the column and the remedy", async ({ world }) => {
    const { migration } = world.store();
    const former = migration.map((statement) => statement.replace(/\n *nonce_clock [^\n]*/, ""));
    const place = kind === "sqlite" ? world.place : await bare(world, "former");
    // SQLite keeps its tables in two files.
    const sessions =
      kind === "sqlite"
        ? await Promise.all([place, place, `${place}-leasehold`, `${place}-leasehold`].map((file) => world.session(file)))
        : Array<Session>(3).fill(await world.session(place));
    for (const [index, statement] of former.entries()) await sessions[index]!.run(statement);

    const store = world.store(place);
    for (const call of [() => store.migrate(), () => store.read(world.election), () => store.acquire(world.acquiring())]) {
      const error = await failureOf(call());
      expect(error).toMatchObject({ code: "STORE_REJECTED", mayHaveBeenApplied: false });
      expect(error.message).toContain("nonce_clock");
      expect(error.message).toMatch(/made by another version: compare their columns with those of store.migration/);
    }
  });
});

const LEASES_KEY = "ALTER TABLE leasehold_leases DROP PRIMARY KEY";
/** Indexes that a table may have in place of its key, as statements on a correct table. */
const OTHER_KEYS: Readonly<Record<Kind, Readonly<Record<string, readonly string[]>>>> = {
  mysql: {
    "no key": [LEASES_KEY],
    "a key of an ORM's own": [
      LEASES_KEY,
      "ALTER TABLE leasehold_leases ADD id BIGINT AUTO_INCREMENT PRIMARY KEY, ADD KEY (election)",
    ],
    "a key on the beginning of names": [LEASES_KEY, "CREATE UNIQUE INDEX k ON leasehold_leases (election(5))"],
    "a key on more columns": [LEASES_KEY, "CREATE UNIQUE INDEX k ON leasehold_leases (election, version)"],
  },
  postgres: {
    "no key": ["ALTER TABLE leasehold_leases DROP CONSTRAINT leasehold_leases_pkey"],
    "a key that is partial": [
      "ALTER TABLE leasehold_leases DROP CONSTRAINT leasehold_leases_pkey",
      "CREATE UNIQUE INDEX k ON leasehold_leases (election) WHERE term > 0",
    ],
    "a key on more columns": [
      "ALTER TABLE leasehold_leases DROP CONSTRAINT leasehold_leases_pkey",
      "CREATE UNIQUE INDEX k ON leasehold_leases (election, version)",
    ],
  },
  sqlite: {
    "no key": [],
    "a key that is partial": ["CREATE UNIQUE INDEX k ON leasehold_leases (election) WHERE term > 0"],
  },
};

await describeDatabases(ALL, (test, kind) => {
  test.for(Object.entries(OTHER_KEYS[kind]))(
    "a table with %s is refused before a candidate leads, with the statement that makes the key",
    async ([name, changes], { world }) => {
      const place = kind === "sqlite" ? world.place : await bare(world, `key_${Object.keys(OTHER_KEYS[kind]).indexOf(name)}`);
      const session = await world.session(kind === "sqlite" ? `${place}-leasehold` : place);
      const { migration } = world.store();
      const made =
        kind === "sqlite" ? migration.slice(2).map((sql) => sql.replace(" NOT NULL PRIMARY KEY", " NOT NULL")) : migration;
      for (const statement of [...made, ...changes]) await session.run(statement);

      const store = world.store(place);
      const calls = [
        () => store.migrate(),
        () => store.acquire(world.acquiring()),
        () => store.check({ election: world.election }),
      ];
      for (const call of calls) {
        const error = await failureOf(call());
        expect(error).toMatchObject({ code: "STORE_REJECTED", mayHaveBeenApplied: false });
        expect(error.message).toMatch(/leasehold_leases has no unique key on \(election\), so that two candidates could lead/);
      }
      const { message } = await failureOf(store.migrate());
      await session.run(/(?<=run: ).*(?=$)/.exec(message)![0]);
      await store.migrate();
      await expect(world.win(store)).resolves.toMatchObject({ term: 1 });
    },
  );

  if (kind === "mysql")
    test("a table of an engine without transactions is refused", async ({ world }) => {
      const place = await bare(world, "myisam");
      const session = await world.session(place);
      for (const statement of world.store().migration) await session.run(statement.replace("InnoDB", "MyISAM"));
      await expect(world.store(place).migrate()).rejects.toMatchObject({
        code: "STORE_REJECTED",
        message: expect.stringContaining("ALTER TABLE leasehold_leases ENGINE = InnoDB"),
      });
    });
});

await describeDatabases(SERVERS, (test, kind) => {
  test("five at once do no harm", async ({ world }) => {
    await world.store(await bare(world, "alone")).migrate();
    const { length } = await columns(world, "alone");
    expect(length).toBeGreaterThan(0);
    for (let round = 0; round < 3; round += 1) {
      const place = await bare(world, `at_once_${round}`);
      await Promise.all(Array.from({ length: 5 }, () => world.store(place).migrate()));
      expect(await columns(world, `at_once_${round}`)).toHaveLength(length);
    }
  });

  test("the statements of store.migration, run by hand, make the same tables", async ({ world }) => {
    const store = world.store(await bare(world, "by_itself"));
    await store.migrate();
    const session = await world.session(await bare(world, "by_hand"));
    for (const statement of store.migration) await session.run(statement);
    for (const statement of store.migration) await session.run(statement);
    expect(JSON.stringify(await columns(world, "by_hand"))).toBe(JSON.stringify(await columns(world, "by_itself")));
  });

  test("afterwards a candidate needs SELECT, INSERT and UPDATE, and no more", async ({ world }) => {
    const store = world.store(await as(world, "candidate", "SELECT, INSERT, UPDATE"));
    const elector = new Elector({ store, election: world.election, candidateId: "a" });
    await expect(elector.tryRun(({ term }) => term)).resolves.toMatchObject({ elected: true, result: 1 });
    await expect(store.check({ election: world.election })).resolves.toMatchObject({ warnings: expect.any(Array) });
    const lease = await world.win(store);
    const session = await world.session(await as(world, "worker", "SELECT, UPDATE"));
    await session.run("BEGIN");
    await store.fence(lease, session.connection);
    await session.run("COMMIT");
    await expect(store.break(world.election, { reason: "r" })).resolves.toMatchObject({ broken: true });
    const occurrences = store.occurrences(world.election, { retentionMs: 60_000 });
    const claim = await world.win(occurrences);
    await session.run("BEGIN");
    await occurrences.fence(claim, session.connection);
    await session.run("COMMIT");
    await expect(occurrences.complete(claim, LIMITS)).resolves.toBe("released");
    // Only `migrate()` needs more rights.
    if (kind === "postgres")
      expect(
        (await failureOf(world.store(await as(world, "reader", "SELECT")).acquire(world.acquiring({ election: "new" })))).message,
      ).toContain("SELECT, INSERT and UPDATE");
  });

  test("an observer needs SELECT", async ({ world }) => {
    await world.win(world.store());
    const store = world.store(await as(world, "observer", "SELECT"));
    await expect(store.read(world.election, { expiry: "store-clock" })).resolves.toMatchObject({ state: "held", holder: "a" });
    await expect(store.break(world.election, { reason: "r" })).rejects.toMatchObject({ code: "STORE_DENIED" });
    if (store.watch) {
      const stop = new AbortController();
      // The first wake-up comes once the watch has begun.
      for await (const _ of store.watch(world.election, { signal: stop.signal })) stop.abort();
      expect(stop.signal.aborted).toBe(true);
    }
  });

  test("schema.md prints the SQL that it runs", async ({ world }) => {
    const schema = await readFile(new URL("../schema.md", import.meta.url), "utf8");
    for (const statement of world.store().migration) expect(schema).toContain(statement);
  });
});
