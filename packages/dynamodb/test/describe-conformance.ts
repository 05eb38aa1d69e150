import { afterAll, beforeAll, expect, test } from "vitest";
import type { StoreUnderTest } from "@leasehold/conformance";
import type { ServiceProcess } from "@leasehold/test-kit/backends/service-process";
import { DynamoDBPlace, withProxy, type DynamoDB } from "@leasehold/test-kit/conformance/dynamodb-place";
import { runConformance, SOME_ROUNDS, type RunOptions } from "@leasehold/test-kit/conformance/run-conformance";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";
import { win } from "@leasehold/test-kit/acquisitions";

const LEASE_MS = 60_000;

/** The facts of the suite about this store, on any DynamoDB whose clock can be moved. */
export const ON_TABLES = {
  leaseMs: LEASE_MS,
  requests: { acquire: 1, renew: 1, release: 1, look: 1 },
  lacks: { watch: "DynamoDB cannot push" },
} satisfies Partial<StoreUnderTest>;
const LIMITS = { timeoutMs: 5_000 };

/** Registers the suite for DynamoDB as an emulator provides it, and a test of the requests on the wire. */
export function describeDynamoDb(
  name: string,
  start: () => Promise<ServiceProcess>,
  { transacts, ...options }: Pick<DynamoDB, "transacts"> & RunOptions,
): void {
  let dynamoDb: DynamoDB;

  beforeAll(async () => {
    dynamoDb = await withProxy(await start(), { transacts });
  });

  afterAll(async () => {
    await dynamoDb[Symbol.asyncDispose]();
  });

  const subject: StoreUnderTest = {
    ...ON_TABLES,
    name,
    rounds: SOME_ROUNDS,
    lacks: { ...ON_TABLES.lacks, ...(transacts ? {} : { fence: "dynalite knows no transactions" }) },
    open: () => DynamoDBPlace.open(dynamoDb),
  };
  runConformance(subject, options);

  test(`${name}: what is counted as one request is one on the wire, but for the question about the table in the background`, async () => {
    await using place = await DynamoDBPlace.open(dynamoDb);
    // If there has never been a record, an acquisition sends a read of its own.
    await warmUp(await place.connect(), "election");
    const store = place.connectThroughProxy();
    const namesDuring = async (act: () => Promise<unknown>): Promise<string[]> => {
      const before = dynamoDb.proxy.requests.length;
      await act();
      const operations = dynamoDb.proxy.requests.slice(before).map((request) => request.name);
      return operations.filter((operation) => operation !== "DescribeTable");
    };
    for (let term = 1; term <= 2; term += 1) {
      await store.read("election", LIMITS);
      let lease: Parameters<typeof store.renew>[0] | undefined;
      const acquire = await namesDuring(async () => {
        lease = await win(store, { election: "election", leaseDurationMs: LEASE_MS, renewIntervalMs: LEASE_MS / 3, ...LIMITS });
      });
      const held = lease as unknown as Parameters<typeof store.renew>[0];
      const rest: string[][] = [];
      for (let count = 0; count < 2; count += 1) {
        await place.pass(LEASE_MS / 3);
        rest.push(await namesDuring(() => store.renew(held, LIMITS)));
        rest.push(await namesDuring(() => store.read("election", LIMITS)));
      }
      rest.push(await namesDuring(() => store.release(held, LIMITS)));
      expect({ acquire, rest }).toEqual({
        acquire: ["UpdateItem"],
        rest: [["UpdateItem"], ["GetItem"], ["UpdateItem"], ["GetItem"], ["UpdateItem"]],
      });
    }
  });
}
