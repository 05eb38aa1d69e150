import type { LeaseRecord, StoredRecord } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import type { SqlDatabase } from "../src/sql-database.ts";
import { ODD_NAMES } from "./odd-names.ts";
import { LEASE_MS, LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { ALL, describeDatabases, recordOf, type SqlWorld } from "./sql-world.ts";

const RECORDS: Readonly<Record<string, Partial<LeaseRecord>>> = {
  "the least there is": {},
  "a vacant one": { termId: null },
  "one of nobody": { term: 0, termId: null, candidateId: null },
  "a value with a NUL in it": { value: "a\0b" },
  "a value of a NUL alone": { value: "\0" },
  "an empty value": { value: "" },
  "a value with emoji": { value: "👩‍🚀 leads, 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 follows" },
  "a value that looks like SQL": { value: `'; DROP TABLE leasehold_leases; -- \\' "\`$1 ? :name %s` },
  "the longest value": { value: "é".repeat(32_768) },
  "a broken one": { broken: { reason: "disk full\0 💥", id: "order" } },
  "one broken without a word": { broken: { reason: "", id: "order" } },
  "one broken with the longest reason": { broken: { reason: "r".repeat(500), id: "order" } },
  "one to be handed over": { bars: [{ untilMs: 0.5, except: { candidateId: "é".repeat(127) }, id: "order" }] },
  "one that is held back": { termId: null, bars: [{ untilMs: 0.25, except: null }] },
  "one that is reserved": { bars: [{ untilMs: 1e-9, except: { group: "é".repeat(127) } }] },
  "one that is paused": { bars: [{ untilMs: null, except: null, reason: "disk full\0 💥", id: "order", sinceMs: 1 }] },
  "the longest bars": {
    bars: [
      { untilMs: 1 / 3, except: null },
      { untilMs: 1 / 3, except: { candidateId: "\u0001".repeat(255) }, id: "i".repeat(36) },
      { untilMs: null, except: null, reason: "\u0001".repeat(500), id: "i".repeat(36), sinceMs: 1_764_000_000_000 },
    ],
  },
  "one that is done": { termId: null, done: true },
  "one that a quorum keeps": { schema: 4, quorum: '{"members":["é\\u0000"]}' },
  "everything at once": {
    value: "v",
    broken: { reason: "r", id: "order" },
    bars: [
      { untilMs: 2_147_483_647, except: null },
      { untilMs: 60_000, except: { group: "g" } },
    ],
    done: true,
    history: '[[1,"\\u0000💥",1,"released",2]]',
  },
  "the highest term": { term: Number.MAX_SAFE_INTEGER },
  "durations that are no whole numbers": { leaseDurationMs: 1 / 3, renewIntervalMs: 1e-9 },
  "the longest lease": { leaseDurationMs: 2_147_483_647, renewIntervalMs: 715_827_882.333 },
};

const signal = new AbortController().signal;

async function get(rows: SqlDatabase, election: string): Promise<StoredRecord | undefined> {
  return await rows.get(election, { signal, consistent: true });
}

/** Writes a record as the engine does, with its fence. The write must succeed. */
async function put(
  rows: SqlDatabase,
  world: SqlWorld,
  record: LeaseRecord,
  ifVersion?: string,
  keepsNonce = false,
): Promise<string> {
  const fence = { term: record.term, termId: record.broken || record.term === 0 ? null : record.termId };
  const outcome = await rows.put(world.election, record, { ifVersion, keepsNonce, fence, signal });
  if (!outcome.stored) return expect.fail("It should have been stored.");
  return outcome.version;
}

await describeDatabases(ALL, (test) => {
  test.for(Object.entries(RECORDS))("%s comes back as it was", async ([, parts], { world }) => {
    const rows = world.rows();
    const first = recordOf({
      term: 0,
      value: "before",
      broken: { reason: "before", id: "order" },
      bars: [{ untilMs: 1, except: { candidateId: "before" }, id: "order" }],
      done: true,
    });
    const version = await put(rows, world, first);
    const record = recordOf(parts);
    const next = await put(rows, world, record, version);

    // Another process sees the record, and no part of the record before.
    const found = await get(world.rows(), world.election);
    expect(found?.data).toStrictEqual(record);
    expect(found?.version).toBe(next);
    const open = !record.broken && record.term > 0;
    expect(await world.fenceRow()).toMatchObject({ term: record.term, term_id: open ? record.termId : null });
  });

  test("names that are equal in some collation are different elections", async ({ world }) => {
    const rows = world.rows();
    for (const [index, name] of ODD_NAMES.entries()) {
      const record = recordOf({
        candidateId: name,
        value: name,
        bars: [{ untilMs: index + 1, except: { group: name } }],
      });
      const fence = { term: index + 1, termId: name.slice(0, 9) };
      const options = { ifVersion: undefined, keepsNonce: false, fence, signal };
      await expect(rows.put(name, record, options), name).resolves.toMatchObject({ stored: true });
    }
    for (const [index, name] of ODD_NAMES.entries()) {
      const found = await get(rows, name);
      expect(found?.data, name).toMatchObject({
        candidateId: name,
        value: name,
        bars: [{ untilMs: index + 1, except: { group: name } }],
      });
      expect(await world.fenceRow(name), name).toMatchObject({ term: index + 1 });
    }
    await expect(get(rows, "nAme")).resolves.toBeUndefined();
  });

  test("every write changes the version, and only a write that names the present version succeeds", async ({ world }) => {
    const rows = world.rows();
    const record = recordOf();
    const versions = [await put(rows, world, record)];
    for (const keepsNonce of [true, false, true, false]) {
      const ifVersion = versions.at(-1);
      const fence = keepsNonce ? {} : { fence: { term: versions.length, termId: record.termId } };
      const outcome = await rows.put(world.election, record, { ifVersion, keepsNonce, ...fence, signal });
      versions.push(outcome.stored ? outcome.version : "");
      await expect(get(rows, world.election)).resolves.toMatchObject({ version: versions.at(-1) });
    }
    expect(new Set(versions).size).toBe(5);
    expect(versions).not.toContain("");

    const fence = { term: 9, termId: "nobody" };
    for (const ifVersion of [
      ...versions.slice(0, -1),
      undefined,
      "",
      `${versions.at(-1)} `,
      `${versions.at(-1)?.toUpperCase()}`,
    ]) {
      for (const options of [
        { fence, keepsNonce: false },
        { fence, keepsNonce: true },
        { keepsNonce: false },
        { keepsNonce: true },
      ]) {
        const attempt = rows.put(world.election, recordOf({ term: 9 }), { ifVersion, ...options, signal });
        await expect(attempt).resolves.toEqual({ stored: false });
      }
    }
    await expect(get(rows, world.election)).resolves.toMatchObject({ data: record });
    expect(await world.fenceRow()).toMatchObject({ term: 4, term_id: record.termId });
  });

  test("the age of the nonce counts from the write that made it", async ({ world }) => {
    const rows = world.rows();
    const at = async (): Promise<unknown> => {
      const { nonce_at, nonce_clock, nonce_wall_ms } = (await world.leaseRow()) ?? {};
      return [nonce_at, nonce_clock, Number(nonce_wall_ms)];
    };
    const record = recordOf();
    const beganMs = Date.now();
    const version = await put(rows, world, record);
    const written = await at();
    const { nonceWallMs } = (await get(rows, world.election)) ?? {};
    expect(nonceWallMs).toBeGreaterThanOrEqual(beganMs);
    expect(nonceWallMs).toBeLessThanOrEqual(Date.now() + 1);
    const kept = await put(rows, world, { ...record, broken: { reason: "r", id: "order" } }, version, true);
    expect(await at()).toStrictEqual(written);
    const plain = await rows.put(world.election, record, { ifVersion: kept, keepsNonce: true, signal });
    expect(await at()).toStrictEqual(written);
    await expect.poll(async () => (await get(rows, world.election))?.nonceAgeMs?.[0]).toBeGreaterThan(2);
    await rows.put(world.election, record, { ifVersion: plain.stored ? plain.version : "", keepsNonce: false, signal });
    expect(await at()).not.toStrictEqual(written);
  });

  describe("a row that is no lease", () => {
    const NONSENSE: Readonly<Record<string, string>> = {
      "of a later version": "schema_version = 2",
      "without a version": "schema_version = NULL",
      "with a negative term": "term = -1",
      "with a term that JavaScript cannot count": "term = 9007199254740993",
      "with an empty termId": "term_id = ''",
      "without a nonce": "nonce = NULL",
      "with an empty nonce": "nonce = ''",
      "with a lease of no duration": "lease_duration_ms = 0",
      "without a duration": "lease_duration_ms = NULL",
      "with a negative interval": "renew_interval_ms = -1",
      "with an empty candidate": "candidate_id = ''",
      "with bars that are no JSON": "bars = '[{'",
      "with bars that are no list": "bars = '{}'",
      "held back for no time": `bars = '[{"untilMs":0,"except":null}]'`,
      "done, perhaps": "done = 0",
    };

    test.for(Object.entries(NONSENSE))("%s is foreign, and is left as it is", async ([, set], { world }) => {
      const store = world.store();
      const lease = await world.win(store);
      await world.run(`UPDATE leasehold_leases SET ${set}, version = 'edited' WHERE election = ?`, [world.name()]);
      const edited = await world.leaseRow();

      for (const attempt of [
        async () => world.store().acquire(world.acquiring()),
        async () => world.store().read(world.election),
        async () => store.renew(lease, LIMITS),
        async () => store.break(world.election, { reason: "r" }),
        async () => store.transfer(world.election, "b"),
        async () => store.release(lease, LIMITS),
      ]) {
        const error = await failureOf(attempt());
        expect(error).toMatchObject({ code: "FOREIGN_RECORD", election: world.election });
        expect(error.message).toContain(world.kind);
      }
      expect(await world.leaseRow()).toEqual(edited);
      expect(await world.fenceRow()).toMatchObject({ term: 1, term_id: lease.termId });
    });
  });

  test("rows made by hand before the first acquisition count as missing", async ({ world }) => {
    await world.rows().migrate();
    await world.run("INSERT INTO leasehold_leases (election) VALUES (?)", [world.name()]);
    await world.run("INSERT INTO leasehold_fences (election) VALUES (?)", [world.name()]);
    const store = world.store();
    await expect(store.read(world.election)).resolves.toBeUndefined();
    await expect(world.win(store)).resolves.toMatchObject({ term: 1 });
    const snapshot = await store.read(world.election, { expiry: "store-clock" });
    expect(snapshot).toMatchObject({ state: "held", leaseDurationMs: LEASE_MS });
  });
});
