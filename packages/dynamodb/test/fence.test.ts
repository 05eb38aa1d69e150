import { randomUUID } from "node:crypto";
import { TransactionCanceledException } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";
import type { Lease } from "@leasehold/core/provider";
import { DynamoDBLeaseStore, type DynamoDBOccurrenceStore } from "@leasehold/dynamodb";
import { describe, expect, test as base } from "vitest";
import { operationOf } from "@leasehold/test-kit/conformance/dynamodb-place";
import { startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { motoMissing, startMoto } from "@leasehold/test-kit/backends/moto";
import { MovableClock } from "@leasehold/test-kit/clocks/movable-clock";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { clientOf, refusal } from "./table-world.ts";

/** An item of the same table that only the leader may write. */
const REPORT = { election: "the report", entry: "total" };

/** A table on moto, which supports transactions. */
const test = base
  .extend("moto", { scope: "file" }, async ({}, { onCleanup }) => {
    const moto = await startMoto();
    onCleanup(() => moto.stop());
    return moto;
  })
  .extend("proxy", { scope: "file" }, async ({ moto }, { onCleanup }) => {
    const proxy = await startFaultProxy(moto.url, { nameOf: operationOf });
    onCleanup(() => proxy.stop());
    return proxy;
  })
  .extend("fenced", async ({ proxy }, { onCleanup }) => {
    const client = clientOf(proxy.url);
    const fenced = new FencedTable(client);
    await fenced.store().createTable();
    onCleanup(() => {
      proxy.rule = undefined;
      client.destroy();
    });
    return fenced;
  });

/** A store with a fence: of leases, or of occurrences. */
type Fencing = Pick<DynamoDBLeaseStore | DynamoDBOccurrenceStore, "fence">;
/** The leadership of a fence. */
type Term = Pick<Lease, "election" | "term" | "termId">;

/** Leases, and in the same table an item that only the leader may write. */
class FencedTable {
  readonly clock = new MovableClock();
  readonly documents: DynamoDBDocumentClient;
  readonly #tableName = `leases-${randomUUID()}`;

  constructor(client: ReturnType<typeof clientOf>) {
    this.documents = DynamoDBDocumentClient.from(client);
  }

  store(): DynamoDBLeaseStore {
    return new DynamoDBLeaseStore({ client: this.documents, tableName: this.#tableName, clock: this.clock });
  }

  /** Writes as the leader of that lease. */
  async write(store: Fencing, leadership: Term, total: number): Promise<void> {
    const Put = { TableName: this.#tableName, Item: { ...REPORT, total } };
    await this.documents.send(new TransactWriteCommand({ TransactItems: [store.fence(leadership), { Put }] }));
  }

  async total(): Promise<unknown> {
    const { Item } = await this.documents.send(new GetCommand({ TableName: this.#tableName, Key: REPORT, ConsistentRead: true }));
    return Item?.["total"];
  }

  /** Fails unless the write is refused and changes nothing. */
  async expectRefused(store: Fencing, leadership: Term): Promise<void> {
    const before = await this.total();
    const error: unknown = await this.write(store, leadership, -1).then(
      () => expect.fail("It should have been refused."),
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(TransactionCanceledException);
    expect((error as TransactionCanceledException).CancellationReasons?.[0]).toMatchObject({ Code: "ConditionalCheckFailed" });
    await expect(this.total()).resolves.toBe(before);
  }
}

describe.skipIf(await isMissing(motoMissing()))("a fenced transaction", () => {
  test("passes for the leader, through renewals and publications", async ({ fenced }) => {
    const store = fenced.store();
    const lease = await win(store);
    await fenced.write(store, lease, 1);
    await store.renew(lease, LIMITS);
    await fenced.write(store, lease, 2);
    await store.publish(lease, "value", LIMITS);
    await fenced.write(store, lease, 3);
    await expect(fenced.total()).resolves.toBe(3);
  });

  test("is refused after a takeover, and passes for the new leader", async ({ fenced }) => {
    const [stale, fresh] = [fenced.store(), fenced.store()];
    const lease = await win(stale);
    await fresh.read(ELECTION);
    fenced.clock.forward(LEASE_MS + 1);
    const newer = await win(fresh, { candidateId: "b" });

    await fenced.expectRefused(stale, lease);
    await fenced.write(fresh, newer, 2);
    await expect(fenced.total()).resolves.toBe(2);
  });

  test("is refused for another termId of the same term, for another term, and for another election", async ({ fenced }) => {
    const store = fenced.store();
    const lease = await win(store);
    const { election, term, termId } = lease;
    await fenced.expectRefused(store, { election, term, termId: randomUUID() });
    await fenced.expectRefused(store, { election, term: term + 1, termId });
    await fenced.expectRefused(store, { election: "another", term, termId });
  });

  test("that is under way delays a renewal, and does not fail it", async ({ fenced, proxy }) => {
    fenced.clock.run();
    const store = fenced.store();
    const lease = await win(store);
    let conflicts = 1;
    // No emulator runs two requests at once. DynamoDB gives this answer if two requests conflict.
    proxy.rule = ({ name }) => {
      return name === "UpdateItem" && conflicts-- > 0 ? refusal(400, "TransactionConflictException") : undefined;
    };
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await fenced.write(store, lease, 1);

    conflicts = Infinity;
    await expect(store.renew(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
    await fenced.write(store, lease, 2);
    await expect(fenced.total()).resolves.toBe(2);
  });
});

describe.skipIf(await isMissing(motoMissing()))("a fenced transaction of an occurrence", () => {
  const TICK = "nightly@10:00";
  const RETENTION = { retentionMs: 3_600_000 };

  test("passes for the attempt that has the occurrence, until it is completed", async ({ fenced }) => {
    const occurrences = fenced.store().occurrences(ELECTION, RETENTION);
    const claim = await win(occurrences, { election: TICK });
    await fenced.write(occurrences, claim, 1);
    await occurrences.renew(claim, LIMITS);
    await fenced.write(occurrences, claim, 2);

    await occurrences.complete(claim, LIMITS);
    await fenced.expectRefused(occurrences, claim);
    await expect(fenced.total()).resolves.toBe(2);
  });

  test("does not depend on the election's lease, nor on other occurrences or elections", async ({ fenced }) => {
    const store = fenced.store();
    const occurrences = store.occurrences(ELECTION, RETENTION);
    const lease = await win(store);
    const claim = await win(occurrences, { election: TICK });
    await fenced.expectRefused(occurrences, lease);
    await fenced.expectRefused(store, claim);
    await fenced.expectRefused(occurrences, { ...claim, election: "nightly@11:00" });
    await fenced.expectRefused(store.occurrences("another", RETENTION), claim);

    await store.release(lease, LIMITS);
    await fenced.write(occurrences, claim, 1);
  });
});

describe.skipIf(await isMissing(motoMissing()))("a lost race", () => {
  test("returns the winner without another request", async ({ fenced, proxy }) => {
    const [a, b] = [fenced.store(), fenced.store()];
    await a.release(await win(a), LIMITS);
    await b.read(ELECTION);
    await win(a, { value: "http://a" });

    const sent = proxy.requests.length;
    const outcome = await b.acquire(acquiring({ candidateId: "b" }));

    expect(outcome).toMatchObject({ acquired: false, current: { holder: "a", term: 2, value: "http://a" } });
    expect(
      proxy.requests
        .slice(sent)
        .map(({ name }) => name)
        .filter((name) => name !== "DescribeTable"),
    ).toEqual(["UpdateItem"]);
  });
});
