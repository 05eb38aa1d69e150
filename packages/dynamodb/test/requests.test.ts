import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import { ListTablesCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { describe, expect, onTestFinished } from "vitest";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { onlyFor } from "@leasehold/test-kit/faults/fault-proxy";
import { DynamoDBRecordStore } from "../src/dynamodb-record-store.ts";
import { LeaseTable } from "../src/lease-table.ts";
import { leaseKey } from "../src/schema.ts";
import { clientOf, inputOf, refusal } from "./table-world.ts";
import { test } from "./world-test.ts";

describe("how many requests a step takes", () => {
  test("a first win takes a read and a write, and a check of the table in the background; each later step takes one", async ({
    world,
  }) => {
    const store = world.store();
    const names = await world.namesDuring(() => win(store));
    expect(names).toEqual(["GetItem", "UpdateItem"]);
    expect(world.questions).toBe(1);

    const lease = await win(store, { election: "another" });
    await expect(world.namesDuring(() => store.renew(lease, LIMITS))).resolves.toEqual(["UpdateItem"]);
    await expect(world.namesDuring(() => store.publish(lease, "value", LIMITS))).resolves.toEqual(["UpdateItem"]);
    await expect(world.namesDuring(() => store.read("another"))).resolves.toEqual(["GetItem"]);
    await expect(world.namesDuring(() => store.release(lease, LIMITS))).resolves.toEqual(["UpdateItem"]);
    await expect(world.namesDuring(() => store.read("another"))).resolves.toEqual(["GetItem"]);
  });

  test("an answer of another server does not count as a time, and needs no read after it", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    const headers = { Date: new Date(Date.now() + 3_600_000).toUTCString() };
    world.proxy.rule = onlyFor("GetItem", { kind: "answer", status: 200, headers, body: "{}" });
    await world.witness.failureOf(store.read(ELECTION));
    world.proxy.rule = undefined;

    await expect(world.namesDuring(() => store.renew(lease, LIMITS))).resolves.toEqual(["UpdateItem"]);
  });

  test("a write needs one read first if the bounds of the service's time have become too wide", async ({ world, dynalite }) => {
    const store = world.store();
    const lease = await win(store);
    world.clock.forward(3 * LEASE_MS);
    await dynalite.advance(3 * LEASE_MS);
    const [look, write, ...rest] = await world.requestsDuring(() => store.renew(lease, LIMITS));
    expect([look?.name, write?.name, rest]).toEqual(["GetItem", "UpdateItem", []]);
    // The read is the cheap kind, and the write uses the time in its reply.
    expect(inputOf(look!)).toMatchObject({ ConsistentRead: false });
    const { nonceNotBefore, nonceNotAfter } = (await world.item())!;
    expect(Number(nonceNotAfter?.N) - Number(nonceNotBefore?.N)).toBeLessThanOrEqual(4_000);
  });

  test("a write that keeps the nonce needs no time, and no read", async ({ world }) => {
    await win(world.store());
    const { version, nonce } = (await world.item())!;
    const table = new LeaseTable(world.client, world.tableName, world.clock);
    const records = new DynamoDBRecordStore(table, { keyOf: leaseKey });
    const record = {
      schema: 3,
      term: 1,
      termId: "the-id-of-a-term",
      candidateId: "a",
      nonce: nonce!.S!,
      leaseDurationMs: LEASE_MS,
      renewIntervalMs: LEASE_MS / 3,
    } as const;
    const put = { ifVersion: version!.S!, keepsNonce: true, signal: new AbortController().signal };
    const names = await world.namesDuring(() => records.put(ELECTION, record, put));
    expect(names).toEqual(["UpdateItem"]);
  });
});

describe("consistency", () => {
  test("a standby's first read is consistent, and its later ones are not", async ({ world }) => {
    await win(world.store());
    const standby = world.store();
    const looks = await world.requestsDuring(async () => {
      for (let look = 0; look < 3; look += 1) await standby.read(ELECTION);
    });
    expect(looks.map((look) => inputOf(look)["ConsistentRead"])).toEqual([true, false, false]);
  });

  test("a read that decides is consistent", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    const operator = world.store();
    await operator.read(ELECTION);

    const looks = await world.requestsDuring(async () => {
      await operator.read(ELECTION, { expiry: "store-clock" });
      await operator.break(ELECTION, { reason: "test" });
      // The renewal has lost its version, and reads the reason.
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "broken" });
    });

    const flags = looks.filter(({ name }) => name === "GetItem").map((look) => inputOf(look)["ConsistentRead"]);
    expect(flags.length).toBeGreaterThanOrEqual(3);
    expect(new Set(flags)).toEqual(new Set([true]));
  });

  test("the read before an acquisition is consistent", async ({ world }) => {
    const [look] = await world.requestsDuring(() => win(world.store()));
    expect(inputOf(look!)).toMatchObject({ ConsistentRead: true });
  });
});

test("a write asks for the item that it finds if its condition fails, and names the table and the key", async ({ world }) => {
  const sent = await world.requestsDuring(() => win(world.store()));
  expect(inputOf(sent.at(-1)!)).toMatchObject({
    TableName: world.tableName,
    Key: { election: { S: ELECTION }, entry: { S: "lease" } },
    ConditionExpression: "attribute_not_exists(#election)",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
});

describe("one attempt is one request, with any retry settings of the user's client", () => {
  const faults: Readonly<Record<string, Fault>> = {
    "a 500": refusal(500, "InternalServerError"),
    "a 503": refusal(503, "ServiceUnavailable"),
    throttling: refusal(400, "ProvisionedThroughputExceededException"),
    "throttling with a time to wait": refusal(400, "ThrottlingException", { "Retry-After": "1" }),
    "a clock that is said to be skewed": refusal(400, "InvalidSignatureException", { Date: "Thu, 01 Jan 2015 00:00:00 GMT" }),
    "a socket that is closed": { kind: "cut", side: "before" },
    "a socket that is closed without the reply": { kind: "cut", side: "after" },
    "half a reply": { kind: "cut", side: "mid-reply" },
  };

  test.for(Object.entries(faults))("%s", async ([, fault], { world }) => {
    const store = world.store();
    const lease = await win(store);

    world.proxy.rule = onlyFor("GetItem", fault);
    await expect(world.namesDuring(() => world.witness.failureOf(store.read(ELECTION)))).resolves.toEqual(["GetItem"]);
    world.proxy.rule = onlyFor("UpdateItem", fault);
    const sent = await world.namesDuring(() => world.witness.failureOf(store.renew(lease, LIMITS)));
    // A reply whose date contradicts the others makes the service's time unknown. A read comes first then.
    expect(sent.filter((name) => name !== "GetItem")).toEqual(["UpdateItem"]);
    world.proxy.rule = undefined;

    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });
});

test("a write that conflicts with a transaction is not carried out, and is sent again for half of its time", async ({
  world,
}) => {
  world.clock.run();
  const store = world.store();
  const lease = await win(store);
  let conflicts = 1;
  world.proxy.rule = ({ name }) => {
    return name === "UpdateItem" && conflicts-- > 0 ? refusal(400, "TransactionConflictException") : undefined;
  };
  await expect(world.namesDuring(() => store.renew(lease, LIMITS))).resolves.toEqual(["UpdateItem", "UpdateItem"]);

  conflicts = Infinity;
  const sent = await world.namesDuring(async () => {
    const renewal = store.renew(lease, { timeoutMs: 1_000 });
    await expect(world.witness.failureOf(renewal)).resolves.toMatchObject({ code: "STORE_CONFLICT" });
  });
  expect(new Set(sent)).toEqual(new Set(["UpdateItem"]));
  // Two tries are at least 10 ms apart.
  expect(sent.length).toBeLessThanOrEqual(500 / 10 + 1);
});

describe("the user's client", () => {
  test("still retries its own calls, before, between and after the store's", async ({ world }) => {
    const store = world.store();
    await win(store);
    let failures = 0;
    world.proxy.rule = ({ name }) => {
      if (name === "GetItem") return refusal(500, "InternalServerError");
      failures += name === "ListTables" ? 1 : 0;
      return name === "ListTables" && failures <= 2 ? refusal(500, "InternalServerError") : undefined;
    };
    const users = world.client.send(new ListTablesCommand({}));
    await world.witness.failureOf(store.read(ELECTION));

    await expect(users).resolves.toHaveProperty("TableNames");
    expect(world.proxy.requests.map(({ name }) => name).filter((name) => name === "ListTables")).toHaveLength(3);
  });

  test("is not changed", async ({ world }) => {
    // At the first call of any kind, the SDK itself adds its signing properties.
    await world.client.send(new ListTablesCommand({}));
    const before = await shape(world.client);
    const store = world.store();
    const lease = await win(store);
    world.proxy.rule = onlyFor("GetItem", refusal(500, "InternalServerError"));
    await world.witness.failureOf(store.read(ELECTION));
    world.proxy.rule = undefined;
    await store.release(lease, LIMITS);
    await store.createTable();

    await expect(shape(world.client)).resolves.toEqual(before);
  });

  test.for([
    { marshallOptions: { convertEmptyValues: true, convertClassInstanceToMap: true }, unmarshallOptions: { wrapNumbers: true } },
    { marshallOptions: { removeUndefinedValues: true, convertTopLevelContainer: true }, unmarshallOptions: {} },
  ])("may be a DynamoDBDocumentClient with its own ideas of values: %j", async (translateConfig, { world }) => {
    const client = DynamoDBDocumentClient.from(world.client, translateConfig as object);
    const before = client.middlewareStack.identify();
    const [store, other] = [world.store({ client }), world.store()];

    const lease = await win(store, { value: "" });
    await expect(other.read(ELECTION)).resolves.toMatchObject({ state: "unknown", term: 1, holder: "a", value: "" });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "held", term: 1, holder: "a", value: "" });
    world.proxy.rule = onlyFor("GetItem", refusal(500, "InternalServerError"));
    await expect(world.namesDuring(() => world.witness.failureOf(store.read(ELECTION)))).resolves.toEqual(["GetItem"]);
    world.proxy.rule = undefined;
    await expect(store.release(lease, LIMITS)).resolves.toBe("released");
    expect(client.middlewareStack.identify()).toEqual(before);
  });

  test("cannot bring its retries back by any configuration", async ({ world }) => {
    for (const options of [{ retryMode: "adaptive" }, { maxAttempts: 10 }, { retryMode: "standard", maxAttempts: 3 }]) {
      const client = clientOf(world.proxy.url, options);
      const store = world.store({ client });
      world.proxy.rule = onlyFor("GetItem", refusal(500, "InternalServerError"));
      await expect(world.namesDuring(() => world.witness.failureOf(store.read(ELECTION)))).resolves.toEqual(["GetItem"]);
      client.destroy();
    }
  });
});

describe("a request that hangs", () => {
  test.for([
    ["before it arrives", "request"],
    ["when it has been carried out", "reply"],
  ] as const)("%s is given up at its time limit, and its socket closed", async ([, side], { world }) => {
    const store = world.store();
    const lease = await win(store);
    const open = openRequests();
    world.proxy.rule = onlyFor("UpdateItem", { kind: "black-hole", side });
    world.proxy.clear();

    const failure = world.witness.failureOf(store.renew(lease, { timeoutMs: 2_500 }));
    await world.proxy.waitFor(
      ({ name, deliveries }) => name === "UpdateItem" && deliveries.length === (side === "reply" ? 1 : 0),
    );
    world.clock.forward(2_499);
    expect(open()).toHaveLength(1);
    const [request] = open();
    const closed = closeOf(request!);
    world.clock.forward(1);

    await expect(failure).resolves.toMatchObject({ code: "STORE_TIMEOUT", operation: "put", mayHaveBeenApplied: true });
    await closed;
    expect(request!.destroyed).toBe(true);
    world.proxy.rule = undefined;
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("is given up when the caller's signal aborts, with its reason", async ({ world }) => {
    const stopping = new AbortController();
    const open = openRequests();
    world.proxy.rule = onlyFor("GetItem", { kind: "black-hole", side: "request" });
    const reading = world.store().read(ELECTION, { signal: stopping.signal });
    await world.proxy.waitFor(({ name }) => name === "GetItem");
    const [request] = open();
    const closed = closeOf(request!);

    stopping.abort("enough");

    await expect(reading).rejects.toBe("enough");
    await closed;
  });
});

test("a process whose clock is off by hours is refused once: the SDK then signs by the service's time", async ({ world }) => {
  for (const systemClockOffset of [5 * 3_600_000, -5 * 3_600_000]) {
    const client = clientOf(world.proxy.url, { systemClockOffset });
    const store = world.store({ client });
    world.proxy.rule = ({ headers }) => {
      const date = String(headers["x-amz-date"]).replace(/(....)(..)(..)T(..)(..)(..)Z/, "$1-$2-$3T$4:$5:$6Z");
      const right = Math.abs(Date.parse(date) - Date.now()) < 300_000;
      return right ? undefined : refusal(400, "InvalidSignatureException", { Date: new Date().toUTCString() });
    };
    const refused = await world.witness.failureOf(store.read(ELECTION));
    expect(refused).toMatchObject({ code: "STORE_UNAUTHENTICATED", mayHaveBeenApplied: false });
    await expect(store.read(ELECTION)).resolves.toBeUndefined();
    client.destroy();
  }
});

/** Resolves when a request has ended in any way. */
async function closeOf(request: ClientRequest): Promise<void> {
  await new Promise<void>((resolve) => void request.once("close", resolve));
}

/** Returns the properties of a client that must not change. */
async function shape(client: DynamoDBClient): Promise<unknown> {
  const { config } = client;
  return {
    steps: client.middlewareStack.identify(),
    keys: Object.keys(config).toSorted(),
    maxAttempts: await config.maxAttempts(),
    retryMode: typeof config.retryMode === "function" ? await config.retryMode() : config.retryMode,
    requestHandler: config.requestHandler,
    region: await config.region(),
  };
}

/** Returns a function that returns the HTTP requests which this process has sent since, and which have not ended. */
function openRequests(): () => ClientRequest[] {
  const open = new Set<ClientRequest>();
  const onStart = (message: unknown): void => {
    const { request } = message as { request: ClientRequest };
    if (request.getHeader("x-amz-user-agent") === undefined) return;
    open.add(request);
    request.once("close", () => open.delete(request));
  };
  subscribe("http.client.request.start", onStart);
  onTestFinished(() => void unsubscribe("http.client.request.start", onStart));
  return () => [...open];
}
