import { systemClock } from "@leasehold/core";
import {
  isOpen,
  LEASE_RECORD_FIELDS,
  parseLeaseRecord,
  type AcquireOutcome,
  type Lease,
  type LeaseRecord,
  type PutIfOpenOutcome,
} from "@leasehold/core/provider";
import { Pool } from "pg";
import { describe, expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";
import type { SqlDatabase } from "../src/sql-database.ts";
import { describeDatabases, recordOf, type Session, type SqlWorld } from "./sql-world.ts";
import { disagreement } from "./two-rows.ts";

const { signal } = new AbortController();

/** A lease of term 7 that was released, with what it has beside that. */
function vacant(parts: Partial<LeaseRecord> = {}): LeaseRecord {
  return recordOf({ term: 7, termId: null, candidateId: "before", nonce: "the nonce before", ...parts });
}

/** Writes a record as if there were none before, with its fence. */
async function plant(world: SqlWorld, record: LeaseRecord): Promise<void> {
  const fence = { term: record.term, termId: record.broken ? null : record.termId };
  const outcome = await world.rows().put(world.election, record, { ifVersion: undefined, keepsNonce: false, fence, signal });
  expect(outcome.stored).toBe(true);
}

async function take(rows: SqlDatabase, world: SqlWorld, parts: Partial<LeaseRecord> = {}, mayCreate = true) {
  return await rows.putIfOpen!(world.election, recordOf({ candidateId: "taker", ...parts }), { mayCreate, signal });
}

/** An attempt that is under way, and waits. */
async function waiting<T>(world: SqlWorld, attempt: Promise<T>): Promise<{ readonly outcome: Promise<T> }> {
  attempt.catch(() => undefined);
  await expect.poll(async () => (await world.busy()).map(({ state }) => state)).toContain("Lock");
  return { outcome: attempt };
}

/** A transaction that has the gate before the fence to itself: an attempt has seen its rows by then, and waits. */
async function holdingGate(world: SqlWorld): Promise<Session> {
  const session = await world.session();
  await session.run("BEGIN");
  await session.run("SELECT pg_advisory_xact_lock(hashtextextended(?::text, 5402371648117))", [world.election]);
  return session;
}

const INSERT_LEASE = `INSERT INTO leasehold_leases (election, version, schema_version, term, term_id, candidate_id, nonce, lease_duration_ms, renew_interval_ms)
  VALUES (?, 'theirs', 3, ?, ?, 'rival', 'their nonce', 15000, 5000)`;
const UPDATE_LEASE =
  "UPDATE leasehold_leases SET version = 'theirs', nonce = 'their nonce', term = ?, term_id = ? WHERE election = ?";
const SET_FENCE =
  "INSERT INTO leasehold_fences (election, term, term_id) VALUES (?, ?, ?) ON CONFLICT (election) DO UPDATE SET term = excluded.term, term_id = excluded.term_id";

async function bothRows(world: SqlWorld): Promise<readonly unknown[]> {
  return [await world.leaseRow(), await world.fenceRow()];
}

await describeDatabases(["postgres"], (test) => {
  describe("one statement takes what is open, as core has it, and shows what is not", () => {
    const BIDS: readonly Partial<LeaseRecord>[] = [
      { term: 1 },
      { term: 8, bars: [{ untilMs: 5, except: { group: "east" } }] },
      { term: 9 },
    ];
    const ROWS: Readonly<Record<string, string>> = {
      "of a term": "term_id = 't'",
      "of a term that is broken": "term_id = 't', broken_reason = 'r', broken_id = 'order'",
      "broken and released": "broken_reason = 'r', broken_id = 'order'",
      "broken without a word, and released": "broken_reason = '', broken_id = 'order'",
      "broken by nobody": "broken_reason = 'r', broken_id = ''",
      "broken, by whom is missing": "broken_reason = 'r'",
      "held back": `bars = '[{"untilMs":1,"except":null}]'`,
      reserved: `bars = '[{"untilMs":1,"except":{"group":"east"}}]'`,
      "with bars that are no JSON": "bars = ''",
      done: "done = 1",
      "done, perhaps": "done = 0",
      "of a quorum": "schema_version = 2, quorum = '{}'",
      "of a quorum and ours": "quorum = '{}'",
      "of a later schema": "schema_version = 2",
      "of no schema": "schema_version = NULL",
      "of the last term": "term = 9007199254740991",
      "of the last term but one": "term = 9007199254740990",
      "of a term that JavaScript cannot count": "term = 9007199254740993",
      "of no term": "term = NULL",
      "of a negative term": "term = -1",
      "of term 0": "term = 0, candidate_id = NULL",
      "of an empty termId": "term_id = ''",
      "without a nonce": "nonce = NULL",
      "with an empty nonce": "nonce = ''",
      "of an empty candidate": "candidate_id = ''",
      "of no duration": "lease_duration_ms = NULL",
      "of an endless duration": "lease_duration_ms = 'Infinity'",
      "of a duration that is no number": "lease_duration_ms = 'NaN'",
      "of a negative interval": "renew_interval_ms = -1",
      "with a value": "value = 'v'",
      "as it was": "version = version",
    };

    test.for(Object.entries(ROWS))("a row %s", async ([, set], { world }) => {
      const rows = world.rows();
      await plant(world, vacant());
      await world.run(`UPDATE leasehold_leases SET ${set} WHERE election = ?`, [world.name()]);
      await world.run(`UPDATE leasehold_fences SET term = 0 WHERE election = ?`, [world.name()]);
      const before = await bothRows(world);
      const stored = await rows.get(world.election, { signal, consistent: true });
      const found = parseLeaseRecord(stored?.data);
      for (const bid of BIDS) {
        const outcome = await take(rows, world, { termId: "new", ...bid });
        const open = !("problem" in found) && isOpen(found, recordOf(bid));
        expect(outcome.stored, JSON.stringify(bid)).toBe(open);
        if (!outcome.stored) {
          expect(outcome.current?.version).toBe(stored?.version);
          expect(outcome.current?.data).toStrictEqual(stored?.data);
          expect(await bothRows(world)).toEqual(before);
          continue;
        }
        const term = "term" in found ? found.term + 1 : NaN;
        expect(outcome).toEqual({ stored: true, term, version: found && "nonce" in found ? found.nonce : "" });
        expect(await disagreement(world)).toBeUndefined();
        const taken = await rows.get(world.election, { signal, consistent: true });
        expect(taken?.data).toMatchObject({ term, termId: "new", candidateId: "taker" });
        const left = LEASE_RECORD_FIELDS.filter(
          (field) => (taken?.data as Partial<LeaseRecord> | undefined)?.[field] !== undefined,
        );
        expect(left.filter((field) => !(field in recordOf(bid)))).toEqual([]);
        expect(await world.fenceRow()).toMatchObject({ term, term_id: "new" });
        break;
      }
    });

    test("no row: it is made, with its fence, where it may be", async ({ world }) => {
      const rows = world.rows();
      await expect(take(rows, world, { term: 4 }, false)).resolves.toEqual({ stored: false, current: undefined });
      expect(await bothRows(world)).toEqual([undefined, undefined]);
      const outcome = await take(rows, world, { term: 4, termId: "new", value: "\0é" });
      expect(outcome).toMatchObject({ stored: true, term: 4 });
      const stored = await rows.get(world.election, { signal, consistent: true });
      expect(stored).toMatchObject({
        version: outcome.stored && outcome.version,
        data: { term: 4, termId: "new", value: "\0é" },
        nonceAgeMs: [expect.any(Number), expect.any(Number)],
        nonceWallMs: expect.any(Number) as number,
      });
      expect(await world.fenceRow()).toMatchObject({ term: 4, term_id: "new" });
    });

    test("rows that were made by hand, and have no record yet, are as if there were none", async ({ world }) => {
      await world.run("INSERT INTO leasehold_leases (election) VALUES (?)", [world.name()]);
      const rows = world.rows();
      await expect(take(rows, world, {}, false)).resolves.toEqual({ stored: false, current: undefined });
      await expect(take(rows, world, { term: 2 })).resolves.toMatchObject({ stored: true, term: 2 });
      expect(await disagreement(world)).toBeUndefined();
    });

    test("a fence whose row is gone is made again", async ({ world }) => {
      await plant(world, vacant());
      await world.run("DELETE FROM leasehold_fences WHERE election = ?", [world.name()]);
      await expect(take(world.rows(), world)).resolves.toMatchObject({ stored: true, term: 8 });
      expect(await world.fenceRow()).toMatchObject({ term: 8 });
    });

    test("a fence that is ahead lets nobody have it at once, whether it has a lease or not, and whoever looks then is told", async ({
      world,
    }) => {
      await world.run(SET_FENCE, [world.name(), 8, "somebody"]);
      for (const lease of [false, true]) {
        const store = world.store();
        await world.run("DELETE FROM leasehold_leases WHERE election = ?", [world.name()]);
        if (lease) await world.run(INSERT_LEASE, [world.name(), 7, null]);
        const before = await bothRows(world);
        await expect(take(world.rows(), world)).rejects.toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
        await expect(store.acquireUnseen!(world.acquiring())).resolves.toBeUndefined();
        const looked = store.acquire(world.acquiring());
        if (lease) await expect(looked).rejects.toMatchObject({ code: "TERM_REGRESSED", foundTerm: 7, highestTermSeen: 8 });
        else await expect(looked).resolves.toMatchObject({ acquired: false, current: { term: 8, bar: { kind: "hold" } } });
        expect((await bothRows(world)).slice(1)).toEqual(before.slice(1));
      }
    });

    test("what is carried out once more gives another version, and no write passes that names the first one", async ({
      world,
    }) => {
      const rows = new PostgresDatabase(world.place, { ...systemClock, randomUuid: () => "always the same" });
      world.onEnd(() => rows.close());
      const holder = world.store();
      await holder.release(await winUnseen(holder, world), LIMITS);
      const bid = recordOf({ candidateId: "taker" });
      const send = (): Promise<PutIfOpenOutcome> => rows.putIfOpen(world.election, bid, { mayCreate: true, signal });
      const versions = new Set<string>();
      for (let term = 2; term <= 4; term += 1) {
        const outcome = await send();
        expect(outcome).toMatchObject({ stored: true, term });
        versions.add(outcome.stored ? outcome.version : "");
        await holder.break(world.election, { reason: "it hangs", immediate: true });
      }
      expect(versions.size).toBe(3);
      for (const ifVersion of versions) {
        const late = rows.put(world.election, bid, { ifVersion, keepsNonce: false, signal });
        await expect(late).resolves.toEqual({ stored: false });
      }
    });
  });

  describe("while it waits for its turn, all that it has seen may pass", () => {
    /** What somebody does who has their turn before, and what becomes of the attempt. */
    interface Race {
      readonly before?: LeaseRecord;
      readonly bid?: Partial<LeaseRecord>;
      readonly mayCreate?: boolean;
      readonly meanwhile: (rival: Session, election: unknown) => Promise<unknown>;
      /** The term that it gets. */
      readonly takes?: number;
    }
    const RACES: Readonly<Record<string, Race>> = {
      "somebody else acquires it": {
        before: vacant(),
        meanwhile: async (rival, election) => {
          await rival.run(UPDATE_LEASE, [8, "theirs", election]);
          await rival.run(SET_FENCE, [election, 8, "theirs"]);
        },
      },
      "somebody else makes it, and leads": {
        meanwhile: async (rival, election) => {
          await rival.run(INSERT_LEASE, [election, 1, "theirs"]);
          await rival.run(SET_FENCE, [election, 1, "theirs"]);
        },
      },
      "somebody else makes it, leads and ends": {
        meanwhile: async (rival, election) => {
          await rival.run(INSERT_LEASE, [election, 5, null]);
          await rival.run(SET_FENCE, [election, 5, null]);
        },
        takes: 6,
      },
      "somebody else makes it, leads and ends, below the term that is wanted": {
        bid: { term: 9 },
        meanwhile: async (rival, election) => {
          await rival.run(INSERT_LEASE, [election, 5, null]);
          await rival.run(SET_FENCE, [election, 5, null]);
        },
      },
      "three terms pass": {
        before: vacant(),
        meanwhile: async (rival, election) => {
          await rival.run(UPDATE_LEASE, [10, null, election]);
          await rival.run(SET_FENCE, [election, 10, null]);
        },
        takes: 11,
      },
      "somebody prepares the rows": {
        meanwhile: async (rival, election) => {
          await rival.run("INSERT INTO leasehold_leases (election) VALUES (?)", [election]);
          await rival.run("INSERT INTO leasehold_fences (election) VALUES (?)", [election]);
        },
        takes: 1,
      },
      "the rows are lost, where none may be made": {
        before: vacant(),
        mayCreate: false,
        meanwhile: async (rival, election) => {
          await rival.run("DELETE FROM leasehold_leases WHERE election = ?", [election]);
          await rival.run("DELETE FROM leasehold_fences WHERE election = ?", [election]);
        },
      },
      "the fence is lost": {
        before: vacant(),
        meanwhile: (rival, election) => rival.run("DELETE FROM leasehold_fences WHERE election = ?", [election]),
        takes: 8,
      },
    };
    for (const [bar, set] of Object.entries({
      "is handed over": `bars = '[{"untilMs":5,"except":{"candidateId":"b"}}]'`,
      "is held back": `bars = '[{"untilMs":5,"except":null}]'`,
      "is done": "done = 1",
      "goes to a quorum": "schema_version = 2, quorum = '{}'",
    })) {
      const sql = `UPDATE leasehold_leases SET version = 'theirs', ${set} WHERE election = ?`;
      Object.assign(RACES, {
        [`it ${bar}`]: { before: vacant(), meanwhile: (rival, election) => rival.run(sql, [election]) } satisfies Race,
      });
    }

    test.for(Object.entries(RACES))("%s", async ([, race], { world }) => {
      if (race.before) await plant(world, race.before);
      const rows = world.rows();
      const rival = await holdingGate(world);
      const { outcome } = await waiting(world, take(rows, world, { termId: "new", ...race.bid }, race.mayCreate));
      await race.meanwhile(rival, world.name());
      const before = await rival.run("SELECT * FROM leasehold_leases WHERE election = ?", [world.name()]);
      await rival.run("COMMIT");

      if (race.takes === undefined) {
        // What it has seen has passed, and nobody is told of it.
        await expect(outcome).resolves.toEqual({ stored: false, current: undefined });
        await expect(rival.run("SELECT * FROM leasehold_leases WHERE election = ?", [world.name()])).resolves.toEqual(before);
      } else {
        await expect(outcome).resolves.toMatchObject({ stored: true, term: race.takes });
        expect(await world.leaseRow()).toMatchObject({ term: race.takes, term_id: "new" });
        expect(await world.fenceRow()).toMatchObject({ term: race.takes, term_id: "new" });
      }
      if (!("mayCreate" in race)) expect(await disagreement(world)).toBeUndefined();
    });

    test("the fence gets ahead: nothing is written at all", async ({ world }) => {
      const rows = world.rows();
      const rival = await holdingGate(world);
      const { outcome } = await waiting(world, take(rows, world));
      await rival.run(SET_FENCE, [world.name(), 5, "theirs"]);
      await rival.run("COMMIT");
      await expect(outcome).rejects.toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
      expect(await bothRows(world)).toMatchObject([undefined, { term: 5, term_id: "theirs" }]);
    });

    test.for(["repeatable\\ read", "serializable"])(
      "a session that is %s meets a conflict, and has written nothing",
      async (level, { world }) => {
        await plant(world, vacant());
        const pool = new Pool({ connectionString: world.place, options: `-c default_transaction_isolation=${level}` });
        world.onEnd(() => pool.end());
        const rows = world.rows(pool);
        const rival = await holdingGate(world);
        const { outcome } = await waiting(world, take(rows, world));
        await rival.run(UPDATE_LEASE, [9, null, world.name()]);
        await rival.run(SET_FENCE, [world.name(), 9, null]);
        await rival.run("COMMIT");
        await expect(outcome).rejects.toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
        await expect(take(rows, world)).resolves.toMatchObject({ stored: true, term: 10 });
      },
    );
  });

  test("who writes the lease's row alone at that moment comes first, or not at all", async ({ world }) => {
    await plant(world, vacant());
    const rows = world.rows();
    const { version } = (await rows.get(world.election, { signal, consistent: true })) ?? {};
    const administrator = await world.session();
    await administrator.run("BEGIN");
    await administrator.run(
      `UPDATE leasehold_leases SET version = 'theirs', bars = '[{"untilMs":5,"except":{"candidateId":"b"}}]' WHERE election = ? AND version = ?`,
      [world.name(), version],
    );
    const first = await waiting(world, take(rows, world));
    await administrator.run("COMMIT");
    await expect(first.outcome).resolves.toEqual({ stored: false, current: undefined });
    expect(await world.leaseRow()).toMatchObject({ term: 7, bars: expect.stringContaining("candidateId") as string });
    expect(await world.fenceRow()).toMatchObject({ term: 7 });

    // Rolled back, it is as if that had never been.
    await world.run("UPDATE leasehold_leases SET bars = NULL WHERE election = ?", [world.name()]);
    await administrator.run("BEGIN");
    await administrator.run(`UPDATE leasehold_leases SET bars = '[{"untilMs":5,"except":null}]' WHERE election = ?`, [
      world.name(),
    ]);
    const second = await waiting(world, take(rows, world));
    await administrator.run("ROLLBACK");
    await expect(second.outcome).resolves.toMatchObject({ stored: true, term: 8 });
  });

  test("the fence's row is the last to be written: one that gets ahead at that moment undoes the lease's", async ({ world }) => {
    await plant(world, vacant());
    const before = await world.leaseRow();
    const stranger = await world.session();
    await stranger.run("BEGIN");
    await stranger.run("UPDATE leasehold_fences SET term = 8, term_id = 'theirs' WHERE election = ?", [world.name()]);
    const { outcome } = await waiting(world, take(world.rows(), world));
    await stranger.run("COMMIT");
    await expect(outcome).rejects.toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
    expect(await world.leaseRow()).toEqual(before);
    expect(await world.fenceRow()).toMatchObject({ term: 8, term_id: "theirs" });
  });

  test("who prepares an election's rows, and who takes it, wait in one order", async ({ world }) => {
    const taker = await world.session();
    await taker.run("BEGIN");
    await taker.run(INSERT_LEASE, [world.name(), 1, "theirs"]);
    const options = { ifVersion: undefined, keepsNonce: false, fence: { term: 1, termId: "t" }, signal };
    const { outcome } = await waiting(world, world.rows().put(world.election, recordOf(), options));
    // Had the other one the fence's row already, each would wait for the other.
    await taker.run(SET_FENCE, [world.name(), 1, "theirs"]);
    await taker.run("COMMIT");
    await expect(outcome).resolves.toEqual({ stored: false });
    expect(await world.fenceRow()).toMatchObject({ term: 1, term_id: "theirs" });
  });

  test("what is led is neither waited for nor locked, also while its leader's transactions go on", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    const guarded = await world.session();
    await guarded.run("BEGIN");
    await store.fence(lease, guarded.connection);
    const writer = await world.session();
    await writer.run("BEGIN");
    await writer.run("SELECT * FROM leasehold_leases WHERE election = ? FOR UPDATE", [world.name()]);

    const refused = await world.store().acquireUnseen!(world.acquiring({ candidateId: "b" }));

    expect(refused).toMatchObject({ acquired: false, proven: true, current: { holder: "a", term: 1 } });
    await writer.run("ROLLBACK");
    await guarded.run("COMMIT");
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("what was released is not taken before the transactions of its leader have ended", async ({ world }) => {
    await plant(world, vacant());
    const guarded = await world.session();
    await guarded.run("BEGIN");
    await guarded.run("SELECT pg_advisory_xact_lock_shared(hashtextextended(?::text, 5402371648117))", [world.election]);
    const attempt = world.store().acquireUnseen!(world.acquiring({ timeoutMs: 4_000 }));
    await expect(attempt).resolves.toBeUndefined();
    // Its wait for the lock has ended, and it is not carried out late.
    await expect.poll(() => world.busy()).toEqual([]);
    await guarded.run("COMMIT");
    expect(await world.leaseRow()).toMatchObject({ term: 7, term_id: null });
  });

  test("a session that was left in a transaction takes nothing, and tells nothing that may be old", async ({ world }) => {
    const pool = new Pool({ connectionString: world.place, max: 1 });
    world.onEnd(() => pool.end());
    for (const held of [false, true]) {
      if (held) await world.win(world.store());
      await pool.query("BEGIN");
      const error = await failureOf(take(world.rows(pool), world));
      expect(error).toMatchObject({ code: "STORE_REJECTED", mayHaveBeenApplied: false });
      expect((await world.leaseRow())?.["term"]).toBe(held ? 1 : undefined);
    }
  });

  test("also what is refused proves the right to write", async ({ world }) => {
    await world.win(world.store());
    for (const [setting, code] of [
      ["-c role=unseen_reader", "STORE_DENIED"],
      ["-c default_transaction_read_only=on", "STORE_UNAVAILABLE"],
    ] as const) {
      if (code === "STORE_DENIED") {
        await world.run("CREATE ROLE unseen_reader");
        await world.run("GRANT SELECT ON leasehold_leases, leasehold_fences TO unseen_reader");
        world.onEnd(() => world.run("DROP OWNED BY unseen_reader; DROP ROLE unseen_reader"));
      }
      const pool = new Pool({ connectionString: world.place, options: setting });
      world.onEnd(() => pool.end());
      const attempt = world.store(pool).acquireUnseen!(world.acquiring({ candidateId: "b" }));
      await expect(attempt).rejects.toMatchObject({ code, mayHaveBeenApplied: false });
      await expect(world.store(pool).read(world.election)).resolves.toMatchObject({ holder: "a" });
    }
  });

  test("a column of somebody else's that must not be null is no fence that is ahead, and no conflict", async ({ world }) => {
    await world.run(`CREATE SCHEMA unseen_tenants;
      CREATE TABLE unseen_tenants.leasehold_leases (LIKE public.leasehold_leases INCLUDING ALL);
      CREATE TABLE unseen_tenants.leasehold_fences (LIKE public.leasehold_fences INCLUDING ALL, tenant TEXT NOT NULL)`);
    world.onEnd(() => world.run("DROP SCHEMA unseen_tenants CASCADE"));
    const pool = new Pool({ connectionString: world.place, options: "-c search_path=unseen_tenants" });
    world.onEnd(() => pool.end());
    const store = world.store(pool);
    for (const call of ["acquireUnseen", "acquire"] as const) {
      const error = await failureOf(store[call]!(world.acquiring()));
      expect(error).toMatchObject({ code: "STORE_REJECTED", mayHaveBeenApplied: false });
      expect(error.message).toContain('"tenant"');
    }
  });

  test("an occurrence is claimed by it, and who guards one that is claimed holds nobody up", async ({ world }) => {
    const occurrences = world.store().occurrences(world.election, { retentionMs: 60_000 });
    const lease = await winUnseen(occurrences, world, "tick");
    const guarded = await world.session();
    await guarded.run("BEGIN");
    await occurrences.fence(lease, guarded.connection);
    const other = world.store().occurrences(world.election, { retentionMs: 60_000 });
    const refused = await other.acquireUnseen!(world.acquiring({ election: "tick", candidateId: "b" }));
    expect(refused).toMatchObject({ acquired: false, current: { term: 1, holder: "a" } });
    await guarded.run("COMMIT");
    await occurrences.release(lease, LIMITS);
    await world.run("UPDATE leasehold_occurrences SET expires_at = now() WHERE election = ?", [world.name()]);
    await expect(
      winUnseen(world.store().occurrences(world.election, { retentionMs: 60_000 }), world, "tick"),
    ).resolves.toMatchObject({
      term: 2,
    });
    const [row] = await world.run(
      "SELECT expires_at - now() > interval '50 s' AS kept FROM leasehold_occurrences WHERE election = ?",
      [world.name()],
    );
    expect(row).toEqual({ kept: true });
  });
});

async function winUnseen(
  store: { acquireUnseen?(request: ReturnType<SqlWorld["acquiring"]>): Promise<AcquireOutcome | undefined> },
  world: SqlWorld,
  election = world.election,
): Promise<Lease> {
  const outcome = await store.acquireUnseen?.(world.acquiring({ election }));
  if (!outcome?.acquired) throw new Error(`It was not acquired: ${JSON.stringify(outcome)}.`);
  return outcome.lease;
}
