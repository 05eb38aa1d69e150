/** The fence as a text for any client: what it refuses, and what gets past it. */
import { FencedError } from "@leasehold/core";
import { isFenced } from "@leasehold/sql";
import { describe, expect, test as plainTest } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { HELD_OFF_ERROR, led, writes, type Led } from "./fencing.ts";
import { ALL, describeDatabases, SERVERS, type Session, type SqlWorld } from "./sql-world.ts";

/** Returns a frozen leader: its lease was broken, and another candidate leads. */
async function frozen(world: SqlWorld): Promise<Led> {
  const before = await led(world);
  await world.store().break(world.election, { reason: "frozen", immediate: true });
  await world.win(world.store(), { candidateId: "b" });
  return before;
}

async function sendFence(session: Session, { store, lease }: Led): Promise<void> {
  const { text, values } = store.fenceSql(lease);
  await session.run(text, values);
}

async function write(world: SqlWorld, session: Session): Promise<void> {
  await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "mine"]);
}

await describeDatabases(ALL, (test, kind) => {
  test("the fence of a leader passes, and holds a release off until the transaction has ended", async ({ world }) => {
    const before = await led(world);
    const session = await world.session();
    await session.run("BEGIN");
    await sendFence(session, before);
    await expect(before.store.release(before.lease, { timeoutMs: 150 })).rejects.toMatchObject(HELD_OFF_ERROR);
    // The server's wait for the lock ends too.
    if (kind !== "sqlite") await expect.poll(() => world.busy()).toEqual([]);
    await write(world, session);
    await session.run("COMMIT");
    await expect(writes(world)).resolves.toEqual(["mine"]);
    await expect(before.store.release(before.lease, LIMITS)).resolves.toBe("released");
  });

  test.for([
    ["another termId", { termId: "other" }],
    ["another term", { term: 2 }],
    ["an election that nobody has led", { election: "never" }],
  ] as const)("the fence of %s fails, and is known as such", async ([, other], { world }) => {
    const { store, lease } = await led(world);
    const session = await world.session();
    await session.run("BEGIN");
    const error = await failureOf(sendFence(session, { store, lease: { ...lease, ...other } }));
    expect(isFenced(error)).toBe(true);
    expect(isFenced(new Error("of an ORM", { cause: error }))).toBe(true);
    await session.rollback();
  });

  test("a fence that fails says so, and shows no termId; on PostgreSQL it names the term that it found", async ({ world }) => {
    const before = await frozen(world);
    const session = await world.session();
    await session.run("BEGIN");
    const error = await failureOf(sendFence(session, before));
    const says = { sqlite: "leasehold_guards.term_id", mysql: "LEASEHOLD_FENCED", postgres: "LEASEHOLD_FENCED by term 2" };
    expect(error.message).toContain(says[kind]);
    expect(error.message).not.toContain(before.lease.termId);
    await session.rollback();
  });

  test("an error that shows the statement is not that of a fence", ({ world }) => {
    const { text } = world.store().fenceSql({ election: "e", term: 1, termId: "t" });
    for (const message of [`Failed query: ${text}`, `BIGINT value is out of range in '(n + 1)'\nsql: ${text}`])
      expect(isFenced(new Error(message, { cause: new Error("deadlock") }))).toBe(false);
  });

  test("all values are texts, one for each placeholder, and no client rewrites a part of the text", async ({ world }) => {
    const { store, lease } = await led(world);
    const { text, values } = store.fenceSql(lease);
    expect(values).toEqual([lease.election, "1", lease.termId]);
    expect(text.match(kind === "postgres" ? /\$\d/g : /\?/g)).toEqual(kind === "postgres" ? ["$1", "$2", "$3"] : ["?", "?", "?"]);
    expect(text).not.toMatch(/::|:[a-z]|\\|\$\$/i);
  });

  /** The writes of a frozen leader that are committed in spite of its fence, if its code swallows the error. */
  const SWALLOWED: readonly unknown[] = kind === "mysql" ? ["mine"] : [];

  test(`a frozen leader that swallows the error commits ${SWALLOWED.length ? "its write" : "nothing"}`, async ({ world }) => {
    const before = await frozen(world);
    const session = await world.session();
    await session.run("BEGIN");
    expect(isFenced(await failureOf(sendFence(session, before)))).toBe(true);
    await write(world, session).catch(() => undefined);
    await session.run("COMMIT").catch(() => undefined);
    await session.close();
    await expect(writes(world)).resolves.toEqual(SWALLOWED);
  });

  if (kind !== "mysql")
    test("a frozen leader that forgets the await of a driver which sends at once commits nothing", async ({ world }) => {
      const before = await frozen(world);
      const session = await world.session();
      await session.run("BEGIN");
      const fencing = failureOf(sendFence(session, before));
      await write(world, session).catch(() => undefined);
      await session.run("COMMIT").catch(() => undefined);
      expect(isFenced(await fencing)).toBe(true);
      await session.close();
      await expect(writes(world)).resolves.toEqual([]);
    });

  if (kind !== "mysql")
    test("a hole: after ROLLBACK TO an earlier savepoint a frozen leader's transaction commits", async ({ world }) => {
      const before = await frozen(world);
      const session = await world.session();
      await session.run("BEGIN");
      await session.run("SAVEPOINT nested");
      await failureOf(sendFence(session, before));
      await session.run("ROLLBACK TO SAVEPOINT nested");
      await write(world, session);
      await session.run("COMMIT");
      await expect(writes(world)).resolves.toEqual(["mine"]);
    });

  test("a hole: outside a transaction a leader's fence passes, and holds nothing off", async ({ world }) => {
    const before = await led(world);
    const session = await world.session();
    await sendFence(session, before);
    await expect(before.store.release(before.lease, LIMITS)).resolves.toBe("released");
    await write(world, session);
    await expect(writes(world)).resolves.toEqual(["mine"]);
  });
});

await describeDatabases(SERVERS, (test, kind) => {
  test.for([
    ["a leader", led, ["mine"]],
    ["a frozen leader", frozen, []],
  ] as const)("a write with the fence as its condition writes for %s what it may", async ([, lead, written], { world }) => {
    const before = await lead(world);
    const { text, values } = before.store.fenceSql(before.lease);
    const session = await world.session();
    const numbers = kind === "postgres" ? ["$4", "$5"] : ["?", "?"];
    const others = kind === "postgres" ? numbers.map((number) => `CAST(${number} AS text)`) : numbers;
    const given = [world.election, "mine"];
    await session
      .run(
        `INSERT INTO writes SELECT ${others.join(", ")} FROM (SELECT 1) AS one WHERE (${text}) = 1`,
        kind === "postgres" ? [...values, ...given] : [...given, ...values],
      )
      .catch((error: unknown) => expect(isFenced(error)).toBe(true));
    await expect(writes(world)).resolves.toEqual(written);
  });

  test("the fence of an occurrence has its key too", async ({ world }) => {
    const store = world.store();
    const occurrences = store.occurrences(world.election, { retentionMs: 60_000 });
    const { text, values } = occurrences.fenceSql({ election: "monday", term: 1, termId: "t" });
    expect(values).toEqual([world.election, "monday", "1", "t"]);
    const session = await world.session();
    await session.run("BEGIN");
    expect(isFenced(await failureOf(session.run(text, values)))).toBe(true);
    await session.rollback();
  });
});

await describeDatabases(["sqlite"], (test) => {
  test("with foreign keys off the fence fails for everybody, and is not taken for that of a stale leader", async ({ world }) => {
    const before = await led(world);
    const session = await world.session();
    await session.run("PRAGMA foreign_keys = OFF");
    await session.run("BEGIN");
    const error = await failureOf(sendFence(session, before));
    expect(error.message).toContain("leasehold_guards.election");
    expect(isFenced(error)).toBe(false);
    await session.run("COMMIT");
    await expect(world.run("SELECT * FROM leasehold_guards")).resolves.toEqual([]);
  });

  test("an occurrence has no fence", ({ world }) => {
    const occurrences = world.store().occurrences("e", { retentionMs: 1_000 });
    expect(() => occurrences.fenceSql({ election: "e", term: 1, termId: "t" })).toThrow(/in another file than the data/);
  });
});

describe("isFenced", () => {
  const circular = Object.assign(new Error("x"), { cause: undefined as unknown });
  circular.cause = circular;

  plainTest.for<[what: string, error: unknown, is: boolean]>([
    ["a FencedError", new FencedError("e", 1, 2, "the tables"), true],
    ["a cause", new Error("x", { cause: new FencedError("e", 1, 2, "the tables") }), true],
    ["nothing", undefined, false],
    ["a text", "LEASEHOLD_FENCED", false],
    ["another error", new Error("deadlock"), false],
    ["an error that is its own cause", circular, false],
    ["a constraint of the user's", new Error("NOT NULL constraint failed: users.term_id"), false],
  ])("of %s says what it is", ([, error, is]) => {
    expect(isFenced(error)).toBe(is);
  });
});
