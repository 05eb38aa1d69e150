/** PGlite: PostgreSQL in this process. It takes seconds to start, so one serves all tests. */
import { PGlite } from "@electric-sql/pglite";
import { Elector, FencedError, LeaseholdError } from "@leasehold/core";
import { isFenced, SqlLeaseStore } from "@leasehold/sql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { acquiring, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";

let database: PGlite;
let store: SqlLeaseStore;

beforeAll(async () => {
  database = await PGlite.create();
  store = new SqlLeaseStore({ postgres: database });
  await store.migrate();
  await database.exec("CREATE TABLE writes (who text)");
});

afterAll(async () => {
  await store.close();
  if (!database.closed) await database.close();
});

async function writes(): Promise<readonly unknown[]> {
  return (await database.query<{ who: string }>("SELECT who FROM writes")).rows.map(({ who }) => who);
}

test("two stores on one PGlite elect one leader", async () => {
  const lease = await win(store, { election: "one", value: "\0 é 👩‍🚀" });
  const other = new SqlLeaseStore({ postgres: database });
  await expect(other.acquire(acquiring({ election: "one", candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
  await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  await expect(other.read("one", { expiry: "store-clock" })).resolves.toMatchObject({ state: "held", value: "\0 é 👩‍🚀" });
  await expect(store.release(lease, LIMITS)).resolves.toBe("released");
  await other.read("one");
  await expect(win(other, { election: "one" })).resolves.toMatchObject({ term: 2 });
  const { warnings = [] } = await store.check({ election: "one" });
  // PGlite writes to its folder by itself, after each statement. Before 0.4 it hides that setting.
  expect(warnings.filter((warning) => !warning.startsWith("fsync is off"))).toEqual([]);
});

test("a standby is notified of a release", async () => {
  const lease = await win(store, { election: "watched" });
  const stop = new AbortController();
  const watch = store.watch!("watched", { signal: stop.signal })[Symbol.asyncIterator]();
  await watch.next();
  const changed = watch.next();
  await store.release(lease, LIMITS);
  await expect(changed).resolves.toEqual({ done: false, value: undefined });
  stop.abort();
});

test("a call waits for the application's transaction, and its time limit holds", async () => {
  const lease = await win(store, { election: "waits" });
  const end = Promise.withResolvers<void>();
  const transaction = database.transaction(async () => await end.promise);
  await expect(store.renew(lease, { timeoutMs: 100 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  end.resolve();
  await transaction;
  await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
});

test("a write inside a transaction that was begun by exec never makes a leader", async () => {
  await database.exec("BEGIN");
  await expect(store.acquire(acquiring({ election: "begun" }))).rejects.toBeInstanceOf(LeaseholdError);
  await database.exec("ROLLBACK");
  await expect(win(store, { election: "begun" })).resolves.toMatchObject({ term: 1 });
});

test("a write that is acknowledged with a warning is not taken for durable", async () => {
  const lease = await win(store, { election: "warned" });
  await database.exec(`CREATE FUNCTION warns() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE WARNING 'not durable'; RETURN NEW; END$$;
    CREATE TRIGGER warns BEFORE UPDATE ON leasehold_leases FOR EACH ROW EXECUTE FUNCTION warns()`);
  try {
    await expect(store.renew(lease, LIMITS)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("not durable"),
    });
  } finally {
    await database.exec("DROP FUNCTION warns CASCADE");
  }
});

test("a transaction of a frozen leader is refused, also if its code swallows the error", async () => {
  const lease = await win(store, { election: "fenced" });
  const work = async (tx: PGlite): Promise<void> => void (await tx.query("INSERT INTO writes VALUES ('leader')"));
  await store.fencedTransaction(lease, work);
  await expect(writes()).resolves.toEqual(["leader"]);
  await store.break("fenced", { reason: "frozen", immediate: true });
  await win(store, { election: "fenced", candidateId: "b" });
  await expect(store.fencedTransaction(lease, work)).rejects.toBeInstanceOf(FencedError);
  const { text, values } = store.fenceSql(lease);
  await database
    .transaction(async (tx) => {
      expect(isFenced(await failureOf(tx.query(text, [...values])))).toBe(true);
      await tx.query("INSERT INTO writes VALUES ('stale')").catch(() => undefined);
    })
    .catch(() => undefined);
  await expect(writes()).resolves.toEqual(["leader"]);
});

test("fence() outside a transaction, and a store on a transaction, are refused", async () => {
  const lease = await win(store, { election: "outside" });
  await expect(store.fence(lease, database)).rejects.toMatchObject({ code: "UNSUPPORTED" });
  await database.transaction(async (tx) => {
    expect(() => new SqlLeaseStore({ postgres: tx as unknown as PGlite })).toThrow(/one transaction of PGlite/);
    await store.fence(lease, tx);
  });
});

test("an elector leads on it", async () => {
  const outcome = await new Elector({ store, election: "elector" }).tryRun(({ term }) => term);
  expect(outcome).toMatchObject({ elected: true, result: 1 });
});

// The last test, because it closes what the others share.
test("a PGlite that was closed says so, and is not taken for an outage", async () => {
  await database.close();
  await expect(store.read("one")).rejects.toMatchObject({
    code: "STORE_REJECTED",
    message: expect.stringMatching(/is closed\./),
  });
});
