import { ScanCommand } from "@aws-sdk/client-dynamodb";
import { type LeaseRecord, ForeignRecordError } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { DynamoDBRecordStore } from "../src/dynamodb-record-store.ts";
import { leaseKey } from "../src/schema.ts";
import { LeaseTable } from "../src/lease-table.ts";
import { makeTable } from "@leasehold/test-kit/conformance/dynamodb-place";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { answer, type TableWorld } from "./table-world.ts";
import { test } from "./world-test.ts";

const { signal } = new AbortController();
const HELD: LeaseRecord = {
  schema: 3,
  term: 1,
  termId: "term-id",
  candidateId: "host-1-abc",
  nonce: "nonce",
  leaseDurationMs: 15_000,
  renewIntervalMs: 5_000,
};

const RECORDS: Readonly<Record<string, LeaseRecord>> = {
  "a lease that is held": HELD,
  "one with a value": { ...HELD, value: "http://10.0.0.1:8080" },
  "one with an empty value": { ...HELD, value: "" },
  "one in many scripts": { ...HELD, candidateId: "ведущий-7-😀", value: "日本語\u0000\r\n\u2028 é e\u0301 👩‍👩‍👧" },
  "one that is vacated": { ...HELD, termId: null },
  "one that nobody ever had": { ...HELD, term: 0, termId: null, candidateId: null },
  "one that is broken": { ...HELD, broken: { reason: "", id: "order" } },
  "one that is to be handed over": { ...HELD, bars: [{ untilMs: 30_000, except: { candidateId: "b" }, id: "order" }] },
  "one that is held back": { ...HELD, termId: null, bars: [{ untilMs: 1_500, except: null }] },
  "one that is kept to a group": { ...HELD, bars: [{ untilMs: 60_000, except: { group: "eu-west-1" } }] },
  "one that is paused": { ...HELD, bars: [{ untilMs: null, except: null, reason: "", id: "order", sinceMs: 1_764_000_000_000 }] },
  "one with everything": {
    ...HELD,
    value: "x",
    broken: { reason: "why", id: "order" },
    bars: [
      { untilMs: 0.25, except: null },
      { untilMs: 1, except: { group: "группа" } },
      { untilMs: null, except: null, reason: "why", id: "order", sinceMs: 0 },
    ],
    done: true,
    history: '[[1,"😀",1]]',
  },
  "one with numbers as large and as fine as there are": {
    ...HELD,
    term: Number.MAX_SAFE_INTEGER,
    leaseDurationMs: 2_147_483_647,
    renewIntervalMs: 333.333_333_333_333_3,
  },
  "one with the longest value": { ...HELD, value: "😀".repeat(65_536 / 4) },
};

function recordsOf(world: TableWorld): DynamoDBRecordStore {
  return new DynamoDBRecordStore(new LeaseTable(world.client, world.tableName, world.clock), { keyOf: leaseKey });
}

async function put(records: DynamoDBRecordStore, record: LeaseRecord, ifVersion?: string): Promise<string> {
  const outcome = await records.put(ELECTION, record, { ifVersion, keepsNonce: false, signal });
  if (!outcome.stored) expect.fail("It was not stored.");
  return outcome.version;
}

describe("a record", () => {
  test.for(Object.entries(RECORDS))("%s comes back as it was, over whatever was there", async ([, record], { world }) => {
    const [records, others] = [recordsOf(world), recordsOf(world)];
    let version: string | undefined;
    for (const before of [RECORDS["one with everything"]!, HELD]) {
      version = await put(records, before, version);
      version = await put(records, record, version);
      const stored = await others.get(ELECTION, { consistent: true, signal });
      expect(stored).toMatchObject({ version, nonceAgeMs: [expect.any(Number), expect.any(Number)] });
      expect(stored?.data).toEqual({ ...record, election: ELECTION, entry: "lease" });
    }
  });

  test("that is missing is undefined", async ({ world }) => {
    await expect(recordsOf(world).get(ELECTION, { consistent: true, signal })).resolves.toBeUndefined();
  });

  test("removes the attributes that it does not have", async ({ world }) => {
    const records = recordsOf(world);
    const version = await put(records, RECORDS["one with everything"]!);
    await put(records, HELD, version);

    expect(Object.keys((await world.item())!).toSorted()).toEqual(
      ["election", "entry", "nonceNotAfter", "nonceNotBefore", "nonceWallMs", "version", ...Object.keys(HELD)].toSorted(),
    );
  });
});

describe("the times of a nonce", () => {
  const NONE = { nonceNotBefore: undefined, nonceNotAfter: undefined, nonceWallMs: undefined };

  async function stamps(world: TableWorld): Promise<unknown> {
    const { nonceNotBefore, nonceNotAfter, nonceWallMs } = (await world.item()) ?? {};
    return { nonceNotBefore, nonceNotAfter, nonceWallMs };
  }

  test("bound the service's time of its write", async ({ world }) => {
    const beforeMs = Date.now();
    await win(world.store());
    const { nonceNotBefore, nonceNotAfter, nonceWallMs } = (await world.item())!;
    expect(Number(nonceNotBefore?.N)).toBeLessThanOrEqual(Date.now());
    expect(Number(nonceNotAfter?.N)).toBeGreaterThanOrEqual(beforeMs);
    expect(Number(nonceNotAfter?.N) - Number(nonceNotBefore?.N)).toBeLessThanOrEqual(4_000);
    expect(Number(nonceWallMs?.N)).toBe(world.clock.wallMs());
  });

  test("stay unchanged after an administrator's write, and are new with the next nonce", async ({ world, dynalite }) => {
    const [store, admin] = [world.store(), world.store()];
    const lease = await win(store);
    const first = await stamps(world);
    world.clock.forward(5_000);
    await dynalite.advance(5_000);

    await admin.break(ELECTION, { reason: "test" });
    await expect(stamps(world)).resolves.toEqual(first);

    await store.release(lease, LIMITS);
    await expect(stamps(world)).resolves.not.toEqual(first);
  });

  test("are absent if no reply shows the time, and are removed with their nonce", async ({ world }) => {
    await world
      .store()
      .release(await win(world.store(), { election: "unused" }), LIMITS)
      .catch(() => undefined);
    const store = world.store();
    const lease = await win(store);
    await store.release(lease, LIMITS);
    expect(await stamps(world)).not.toEqual(NONE);

    // Another process, which gets no reply with a time. Only its writes arrive.
    const item = (await world.item())!;
    world.proxy.rule = ({ name }) => {
      if (name === "GetItem") return answer(200, { Item: item }, { Date: "the day after tomorrow" });
      return name === "DescribeTable" ? answer(200, { Table: {} }) : undefined;
    };
    await win(world.store());
    await expect(stamps(world)).resolves.toEqual(NONE);
  });

  test("that are ahead of the service's time give no age", async ({ world }) => {
    await win(world.store());
    const aheadMs = Date.now() + 60_000;
    const ahead = { nonceNotBefore: { N: String(aheadMs) }, nonceNotAfter: { N: String(aheadMs + 2_000) } };
    await world.putItem({ ...(await world.item())!, ...ahead });

    const stored = await recordsOf(world).get(ELECTION, { consistent: true, signal });
    expect(stored).toMatchObject({ data: { term: 1 } });
    expect(stored).not.toHaveProperty("nonceAgeMs");
  });
});

test("other attributes are not changed, whatever they contain", async ({ world }) => {
  const store = world.store();
  const lease = await win(store);
  const foreign = {
    owner: { S: "ops" },
    tags: { SS: ["a", "b"] },
    huge: { N: "123456789012345678901234567890" },
    fine: { N: "90071992547409930.5" },
    blob: { B: new Uint8Array([1, 2, 3]) },
  };
  await world.putItem({ ...(await world.item())!, ...foreign });

  await store.renew(lease, LIMITS);
  await expect(world.store().read(ELECTION)).resolves.toMatchObject({ term: 1, holder: "a" });
  await store.release(lease, LIMITS);
  await win(world.store());

  await expect(world.item()).resolves.toMatchObject({ ...foreign, term: { N: "2" } });
});

describe("an item that is not a lease", () => {
  test.for(
    Object.entries({
      "has nothing but its key": {},
      "belongs to somebody else": { owner: { S: "ops" }, version: { S: "v1" } },
      "is of a newer schema": { ...lease(), schema: { N: "2" } },
      "has a term that no number holds": { ...lease(), term: { N: "99999999999999999999" } },
      "has a term in words": { ...lease(), term: { S: "one" } },
      "has no version": { ...lease(), version: { NULL: true } },
      "has no nonce": { ...lease(), nonce: { NULL: true } },
      "has a duration of 0": { ...lease(), leaseDurationMs: { N: "0" } },
      "has a note that is a text": { ...lease(), broken: { S: "why" } },
    }),
  )("%s: an error that names it, and it stays as it was", async ([, item], { world }) => {
    await world.putItem(item as never);
    const before = await world.item();
    for (const attempt of [
      () => world.store().read(ELECTION),
      () => world.store().acquire(acquiring()),
      () => world.store().break(ELECTION, { reason: "test" }),
      () => world.store().transfer(ELECTION, "b"),
    ]) {
      const error = await world.witness.failureOf(attempt());
      expect(error).toBeInstanceOf(ForeignRecordError);
      expect(error).toMatchObject({ code: "FOREIGN_RECORD", election: ELECTION });
    }
    expect(world.proxy.requests.map(({ name }) => name)).not.toContain("UpdateItem");
    await expect(world.item()).resolves.toEqual(before);
  });

  function lease(): object {
    return {
      schema: { N: "1" },
      term: { N: "1" },
      termId: { S: "term-id" },
      candidateId: { S: "a" },
      nonce: { S: "nonce" },
      leaseDurationMs: { N: "15000" },
      renewIntervalMs: { N: "5000" },
      version: { S: "v1" },
    };
  }
});

test.for([["id"], ["election"], ["election", "tick"], ["id", "entry"]])(
  "a table with the keys %j is an error that names the right keys, and nothing is written",
  async (keys, { world }) => {
    const tableName = `${world.tableName}-other`;
    await makeTable(world.direct, tableName, keys);
    const store = world.store({ tableName });
    const occurrences = store.occurrences(ELECTION, { retentionMs: LEASE_MS });

    for (const attempt of [
      () => store.read(ELECTION),
      () => store.acquire(acquiring()),
      () => occurrences.read("nightly@10:00"),
      () => occurrences.acquire(acquiring({ election: "nightly@10:00" })),
    ]) {
      const error = await world.witness.failureOf(attempt());
      expect(error).toMatchObject({ code: "STORE_REJECTED", mayHaveBeenApplied: false });
      expect(error.message).toMatch(/partition key must be the string 'election', and its sort key the string 'entry'/);
    }
    const { Items } = await world.direct.send(new ScanCommand({ TableName: tableName }));
    expect(Items).toEqual([]);
  },
);
