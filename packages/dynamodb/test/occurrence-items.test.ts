import { ConfigurationError } from "@leasehold/core";
import { ForeignRecordError } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { DynamoDBRecordStore } from "../src/dynamodb-record-store.ts";
import { occurrenceKey } from "../src/schema.ts";
import { LeaseTable } from "../src/lease-table.ts";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { answer, inputOf, type TableWorld } from "./table-world.ts";
import { test } from "./world-test.ts";

const TICK = "nightly@2026-11-20T10:00:00.000Z";
const ENTRY = `tick#${TICK}`;
const RETENTION = { retentionMs: 3_600_000 };

async function expiresAt(world: TableWorld): Promise<number> {
  return Number((await world.item(ELECTION, ENTRY))?.["expiresAt"]?.N);
}

test("an occurrence is an item beside the lease, with the second from which it may be deleted", async ({ world }) => {
  const store = world.store();
  await win(store);
  const before = Date.now() / 1_000;
  await win(store.occurrences(ELECTION, RETENTION), { election: TICK });

  expect(Object.keys((await world.item(ELECTION, ENTRY))!)).toEqual(
    expect.arrayContaining(["election", "entry", "expiresAt", "version", "nonceNotAfter", "nonceNotBefore", "termId"]),
  );
  expect(await expiresAt(world)).toBeGreaterThanOrEqual(before + 3_600);
  expect(await expiresAt(world)).toBeLessThanOrEqual(Date.now() / 1_000 + 3_605);
  expect(await world.item()).not.toHaveProperty("expiresAt");
});

test("the time of deletion is not part of the record, nor are the other times", async ({ world }) => {
  await win(world.store().occurrences(ELECTION, RETENTION), { election: TICK });
  const place = { keyOf: (occurrence: string) => occurrenceKey(ELECTION, occurrence), ...RETENTION };
  const records = new DynamoDBRecordStore(new LeaseTable(world.client, world.tableName, world.clock), place);
  const stored = await records.get(TICK, { consistent: true, signal: new AbortController().signal });

  expect(stored).toMatchObject({ data: { term: 1, candidateId: "a" } });
  for (const stamp of ["expiresAt", "version", "nonceNotBefore", "nonceNotAfter"]) expect(stored?.data).not.toHaveProperty(stamp);
});

test("an item that is not an occurrence is an error that names it, and is not changed", async ({ world }) => {
  await world.putItem({ entry: { S: ENTRY }, owner: { S: "ops" } });
  const before = await world.item(ELECTION, ENTRY);
  const error = await world.witness.failureOf(
    world
      .store()
      .occurrences(ELECTION, RETENTION)
      .acquire(acquiring({ election: TICK })),
  );

  expect(error).toBeInstanceOf(ForeignRecordError);
  expect(error).toMatchObject({ election: TICK });
  await expect(world.item(ELECTION, ENTRY)).resolves.toEqual(before);
});

describe("a lease store and its occurrences share what they have learned:", () => {
  test("the kind of the table", async ({ world }) => {
    const store = world.store();
    await win(store);
    const names = await world.namesDuring(() => win(store.occurrences(ELECTION, RETENTION), { election: TICK }));
    expect(names).toEqual(["GetItem", "UpdateItem"]);
  });

  test("the service's time, without which a write needs a read first", async ({ world, dynalite }) => {
    const store = world.store();
    const occurrences = store.occurrences(ELECTION, RETENTION);
    const claim = await win(occurrences, { election: TICK });
    const pass = async (ms: number): Promise<void> => {
      world.clock.forward(ms);
      await dynalite.advance(ms);
    };
    const renew = (): Promise<unknown> => occurrences.renew(claim, LIMITS);
    await pass(3 * LEASE_MS);
    const sent = await world.requestsDuring(renew);
    expect(sent.map(({ name }) => name)).toEqual(["GetItem", "UpdateItem"]);
    expect(inputOf(sent[0]!)["Key"]).toEqual({ election: { S: ELECTION }, entry: { S: ENTRY } });

    await pass(3 * LEASE_MS);
    await store.read(ELECTION);
    await expect(world.namesDuring(renew)).resolves.toEqual(["UpdateItem"]);
  });
});

test("an occurrence is kept if no reply shows the time, although it had a time of deletion before", async ({ world }) => {
  const first = world.store().occurrences(ELECTION, RETENTION);
  await first.release(await win(first, { election: TICK }), LIMITS);
  expect(await expiresAt(world)).toBeGreaterThan(0);

  const item = (await world.item(ELECTION, ENTRY))!;
  world.proxy.rule = ({ name }) => {
    if (name === "GetItem") return answer(200, { Item: item }, { Date: "the day after tomorrow" });
    return name === "DescribeTable" ? answer(200, { Table: {} }) : undefined;
  };
  await win(world.store().occurrences(ELECTION, RETENTION), { election: TICK });

  await expect(world.item(ELECTION, ENTRY)).resolves.toMatchObject({ term: { N: "2" } });
  await expect(world.item(ELECTION, ENTRY)).resolves.not.toHaveProperty("expiresAt");
});

describe("occurrences()", () => {
  test("can be completed, which an election cannot", ({ world }) => {
    const store = world.store();
    expect(store.occurrences(ELECTION, RETENTION).capabilities).toEqual({ ...store.capabilities, list: undefined });
  });

  test.for<[unknown, unknown, RegExp]>([
    ["", 1, /election is empty/],
    [7, 1, /election must be a string/],
    ["x".repeat(256), 1, /256 bytes/],
    ["a\u0000", 1, /control character/],
    ["\ud800", 1, /lone surrogate/],
    [ELECTION, undefined, /retentionMs must be a number/],
    [ELECTION, "3600", /retentionMs must be a number/],
    [ELECTION, 0, /retentionMs is 0/],
    [ELECTION, Infinity, /retentionMs is Infinity/],
  ])("refuses the election %j with the retention %j, before any request", async ([election, retentionMs, says], { world }) => {
    const store = world.store();
    const ask = (): unknown => store.occurrences(election as string, { retentionMs: retentionMs as number });
    await expect(world.namesDuring(async () => expect(ask).toThrow(ConfigurationError))).resolves.toEqual([]);
    expect(ask).toThrow(says);
  });
});
