/** Connections of postgres.js by a `sql` that plays a server: what goes back to the driver's pool. */
import { expect, test } from "vitest";
import { failureOf } from "@leasehold/test-kit/failure";
import { statement } from "../src/postgres/postgres-driver.ts";
import { poolOrUrl } from "../src/postgres/postgres-handles.ts";

/** The answer of a statement: rows, an error, or none. */
type Answer = readonly unknown[] | Error | undefined;

const UPDATE = "UPDATE t SET n = $1";
const STATUS = "SELECT txid_current_if_assigned()";

/** The error of a connection that breaks. The driver gives it no severity. */
const broken = (): Error => Object.assign(new Error("write CONNECTION_CLOSED"), { code: "CONNECTION_CLOSED" });
const refused = (severity: string, code: string): Error => Object.assign(new Error("refused"), { severity, code });

/** Returns a `sql` with one connection, and records what it gets. @param answers the answers by the statement's text. */
function played(answers: Readonly<Record<string, Answer>>, options: object = {}) {
  const events: string[] = [];
  const unsafe = (text: string): unknown => {
    events.push(text);
    const answer = text in answers ? answers[text] : Object.assign([], { columns: [], count: 0 });
    const query =
      answer instanceof Error ? Promise.reject(answer) : answer ? Promise.resolve(answer) : new Promise(() => undefined);
    query.catch(() => undefined);
    return Object.assign(query, { raw: () => query, execute: () => query });
  };
  const reserved = Object.assign(() => undefined, { unsafe, typed: undefined, release: () => events.push("released") });
  const sql = Object.assign(() => undefined, {
    ...{ unsafe, typed: undefined, options, listen: () => undefined, begin: () => undefined },
    reserve: () => Promise.resolve(reserved),
    end: () => Promise.resolve(),
  });
  return { sql, events };
}

/** Sends an update, and gives the connection back after its failure. Returns the failure, and what was sent. */
async function failed(answers: Readonly<Record<string, Answer>>): Promise<readonly [Error, readonly string[]]> {
  const { sql, events } = played(answers);
  const pool = poolOrUrl(sql);
  if (typeof pool === "string") return expect.fail("not a URL");
  const connection = await pool.connect();
  const failure = await failureOf(connection.query(statement(UPDATE, [1])));
  connection.release(true);
  await new Promise((resolve) => void setImmediate(resolve));
  return [failure, events];
}

test.for([
  ["without a severity", broken()],
  ["that is FATAL", refused("FATAL", "57P01")],
  ["that is a PANIC", refused("PANIC", "XX000")],
] as const)("a connection that breaks behind its answer, by an error %s, never goes back", async ([, error]) => {
  const [failure, events] = await failed({ [STATUS]: error });
  expect(failure).toBe(error);
  expect(events).toEqual([UPDATE, STATUS]);
});

test("a statement whose connection breaks fails at once, although a statement behind it would never be answered", async () => {
  const error = broken();
  const [failure, events] = await failed({ [UPDATE]: error, [STATUS]: undefined });
  expect(failure).toBe(error);
  expect(events).toEqual([UPDATE]);
});

test("a connection in a failed transaction is rolled back before it goes back", async () => {
  const [, events] = await failed({ [STATUS]: refused("ERROR", "25P02") });
  expect(events).toEqual([UPDATE, STATUS, "ROLLBACK", "released"]);
});

test("a connection to a server that takes no writes is closed by that server, and never goes back", async () => {
  const terminate = "SELECT pg_terminate_backend(pg_backend_pid())";
  const [, events] = await failed({ [UPDATE]: refused("ERROR", "25006"), [terminate]: refused("FATAL", "57P01") });
  expect(events).toEqual([UPDATE, "ROLLBACK", terminate]);
});

test("a sql with fetch_types: false is refused at construction, because reserve() would never answer", () => {
  expect(() => poolOrUrl(played({}, { fetch_types: false }).sql)).toThrow(/has the option fetch_types: false/);
  expect(() => poolOrUrl(played({}, { fetch_types: true }).sql)).not.toThrow();
});

test("a sql that has ended rejects each call, although reserve() never answers", async () => {
  const { sql, events } = played({ "SELECT 1": Object.assign(new Error("write CONNECTION_ENDED db:5432")) });
  const pool = poolOrUrl(Object.assign(sql, { reserve: () => new Promise(() => undefined) }));
  if (typeof pool === "string") return expect.fail("not a URL");
  await expect(pool.connect()).rejects.toThrow("CONNECTION_ENDED");
  await expect(pool.connect()).rejects.toThrow("CONNECTION_ENDED");
  // The second call is rejected at once.
  expect(events).toEqual(["SELECT 1"]);
});
