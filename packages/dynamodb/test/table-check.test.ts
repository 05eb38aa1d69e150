import { Elector, UnsupportedError } from "@leasehold/core";
import { beforeEach, describe, expect, vi, type MockInstance } from "vitest";
import type { Fault } from "../../../test/backends/fault.ts";
import { answer, asking, ELECTION, LIMITS, onlyFor, refusal, win } from "./table-world.ts";
import { test } from "./world-test.ts";

let warned: MockInstance<typeof process.emitWarning>;

beforeEach(() => {
  warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  return () => warned.mockRestore();
});

const REPLICAS = [{ RegionName: "eu-west-1" }, { RegionName: "us-east-1" }];

function described(table: object): Fault {
  return answer(200, { Table: table });
}

describe("a global table with eventually consistent replicas", () => {
  test.for([undefined, "EVENTUAL"])(
    "is refused before anything is written, with the reason (%s)",
    async (consistency, { world }) => {
      world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: REPLICAS, MultiRegionConsistency: consistency }));
      const store = world.store();

      for (let tries = 0; tries < 2; tries += 1) {
        const error = await world.failureOf(store.acquire(asking()));
        expect(error).toMatchObject({ code: "CONFIGURATION", election: ELECTION });
        expect(error.message).toMatch(/eventually consistent replicas \(eu-west-1, us-east-1\).*two candidates could lead/);
      }
      expect(world.proxy.requests.map(({ name }) => name)).not.toContain("UpdateItem");
      await expect(world.item()).resolves.toBeUndefined();
      expect(warned).not.toHaveBeenCalled();
    },
  );

  test("ends run, campaign and tryRun with that error, and leaves readers be", async ({ world }) => {
    world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: REPLICAS }));
    const electorOf = (): Elector => new Elector({ store: world.store(), election: ELECTION, clock: world.clock });

    await expect(electorOf().run(() => expect.fail("It led."))).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(electorOf().campaign()).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(electorOf().tryRun(() => expect.fail("It led."))).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(world.store().read(ELECTION)).resolves.toBeUndefined();
  });

  test("holds no occurrences either", async ({ world }) => {
    world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: REPLICAS }));
    const occurrences = world.store().occurrences(ELECTION, { retentionMs: 60_000 });

    await expect(world.failureOf(occurrences.acquire(asking({ election: "nightly@10:00" })))).resolves.toMatchObject({
      code: "CONFIGURATION",
    });
    expect(world.proxy.requests.map(({ name }) => name)).not.toContain("UpdateItem");
  });
});

test("a table that is replicated with strong consistency holds leases, and fences nothing", async ({ world }) => {
  world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: REPLICAS, MultiRegionConsistency: "STRONG" }));
  const store = world.store();
  const lease = await win(store);

  expect(() => store.fence(lease)).toThrow(UnsupportedError);
  expect(() => store.fence(lease)).toThrow(/no transactions/);
  expect(() => store.occurrences(ELECTION, { retentionMs: 1 }).fence(lease)).toThrow(/no transactions/);
  await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
});

test("a table in one region is asked about once", async ({ world }) => {
  const store = world.store();
  const names = await world.namesDuring(async () => {
    for (const election of ["one", "two", "three"]) await win(store, { election });
  });
  expect(names.filter((name) => name === "DescribeTable")).toHaveLength(1);
});

test("who may only read the table is never asked what it is", async ({ world }) => {
  await expect(world.namesDuring(() => world.store().read(ELECTION))).resolves.toEqual(["GetItem"]);
});

test("who may not ask is warned, once, and goes on", async ({ world }) => {
  world.proxy.rule = onlyFor("DescribeTable", refusal(400, "AccessDeniedException"));
  const store = world.store();
  const names = await world.namesDuring(async () => {
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await win(store, { election: "another" });
    expect(store.fence(lease)).toHaveProperty("ConditionCheck");
  });

  expect(names.filter((name) => name === "DescribeTable")).toHaveLength(1);
  expect(warned).toHaveBeenCalledOnce();
  const [message, options] = warned.mock.lastCall as unknown as [string, object];
  expect(message).toMatch(/dynamodb:DescribeTable is denied/);
  expect(options).toEqual({ type: "LeaseholdWarning", code: "LEASEHOLD_TABLE_NOT_CHECKED" });
});

describe("where nobody could tell", () => {
  test.for(
    Object.entries<Fault>({
      "the service is throttled": refusal(400, "ThrottlingException"),
      "the service fails": refusal(500, "InternalServerError"),
      "the connection is cut": { kind: "cut", side: "before" },
      "the credentials have expired": refusal(400, "ExpiredTokenException"),
      "the clock is off": refusal(400, "InvalidSignatureException"),
      "a proxy refuses": { kind: "answer", status: 403, body: "<html>Forbidden</html>" },
    }),
  )("since %s, nothing is written, and it is asked again before the next write", async ([, fault], { world }) => {
    const store = world.store();
    world.proxy.rule = onlyFor("DescribeTable", fault);
    const before = await world.namesDuring(async () => {
      const error = await world.failureOf(store.acquire(asking()));
      expect(error).toMatchObject({ name: "StoreError", mayHaveBeenApplied: false });
    });
    expect(before).not.toContain("UpdateItem");
    world.proxy.rule = undefined;

    const again = await world.namesDuring(() => win(store));
    expect(again.filter((name) => name === "DescribeTable")).toHaveLength(1);
    const lease = await win(store, { election: "another" });
    const last = await world.namesDuring(() => store.renew(lease, LIMITS));
    expect(last).toEqual(["UpdateItem"]);
    expect(warned).not.toHaveBeenCalled();
  });
});
