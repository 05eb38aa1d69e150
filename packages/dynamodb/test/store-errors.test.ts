import { inspect } from "node:util";
import { StoreError, type StoreErrorCode } from "@leasehold/core";
import { describe, expect } from "vitest";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { answer, clientOf, refusal } from "./table-world.ts";
import { test } from "./world-test.ts";

interface Failing {
  readonly fault: Fault;
  readonly code: StoreErrorCode;
  /** True if a write may have been carried out. */
  readonly applied: boolean;
  readonly retryAfterMs?: number;
  readonly says?: RegExp;
}

/** Failures on the way, and answers of each form. `error-texts.test.ts` has the table of the service's codes. */
const FAILURES: Readonly<Record<string, Failing>> = {
  "400 TransactionConflictException": {
    fault: refusal(400, "TransactionConflictException"),
    code: "STORE_CONFLICT",
    applied: false,
    says: /TransactionConflictException \(HTTP 400\): What the service says/,
  },
  "400 ThrottlingException with Retry-After": {
    fault: refusal(400, "ThrottlingException", { "Retry-After": "3" }),
    code: "STORE_THROTTLED",
    applied: false,
    retryAfterMs: 3_000,
  },
  "503 with Retry-After": {
    fault: refusal(503, "ServiceUnavailable", { "Retry-After": "0.5" }),
    code: "STORE_UNAVAILABLE",
    applied: true,
    retryAfterMs: 500,
  },
  "400 ThrottlingException with a date, which this machine's clock should not judge": {
    fault: refusal(400, "ThrottlingException", { "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT" }),
    code: "STORE_THROTTLED",
    applied: false,
  },
  "500 InternalServerError": {
    fault: refusal(500, "InternalServerError"),
    code: "STORE_UNAVAILABLE",
    applied: true,
    says: /InternalServerError \(HTTP 500\)/,
  },
  "500 ThrottlingException": { fault: refusal(500, "ThrottlingException"), code: "STORE_THROTTLED", applied: true },
  "502 of a gateway": { fault: page(502, "Bad gateway"), code: "STORE_UNAVAILABLE", applied: true },
  "200 of a captive portal": { fault: page(200, "Sign in"), code: "STORE_UNAVAILABLE", applied: true },
  "200 of a captive portal that speaks JSON": {
    fault: { kind: "answer", status: 200, headers: { "Content-Type": "application/json" }, body: "{}" },
    code: "STORE_UNAVAILABLE",
    applied: true,
    says: /not the service's/,
  },
  "400 of a stranger that speaks like the service": {
    fault: stranger(400, "ResourceNotFoundException"),
    code: "STORE_MISSING",
    applied: true,
  },
  "400 of a stranger that speaks of a condition": {
    fault: stranger(400, "ConditionalCheckFailedException"),
    code: "STORE_REJECTED",
    applied: true,
  },
  "a connection that is closed": {
    fault: { kind: "cut", side: "before" },
    code: "STORE_UNAVAILABLE",
    applied: true,
    says: /failed: ECONNRESET: /,
  },
  "a connection that is closed after the write": {
    fault: { kind: "cut", side: "after" },
    code: "STORE_UNAVAILABLE",
    applied: true,
  },
  "half a reply": { fault: { kind: "cut", side: "mid-reply" }, code: "STORE_UNAVAILABLE", applied: true },
};

describe("what a failure means", () => {
  test.for(Object.entries(FAILURES))("%s", async ([, { fault, code, applied, retryAfterMs, says }], { world }) => {
    // A conflict is tried again after a moment.
    world.clock.run();
    const store = world.store();
    const lease = await win(store);
    world.proxy.rule = () => fault;

    const looking = await world.witness.failureOf(store.read(ELECTION));
    expect(looking).toBeInstanceOf(StoreError);
    expect(looking).toMatchObject({ code, store: "dynamodb", operation: "get", election: ELECTION, mayHaveBeenApplied: false });
    expect(looking.retryAfterMs).toBe(retryAfterMs);
    expect(looking.cause).toBeInstanceOf(Error);
    if (says) expect(looking.message).toMatch(says);

    const renewing = await world.witness.failureOf(store.renew(lease, LIMITS));
    expect(renewing).toBeInstanceOf(StoreError);
    // An answer of another server has no date, and the simulated ones have none either. So the write needs no read first.
    expect(renewing).toMatchObject({ code, operation: "put", election: ELECTION, mayHaveBeenApplied: applied });

    world.proxy.rule = undefined;
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });
});

describe("a request that cannot have arrived", () => {
  test("because credentials are missing is not authenticated", async ({ world }) => {
    const credentials = (): never => {
      throw credentialsError("Could not load credentials from any providers");
    };
    const client = clientOf(world.proxy.url, { credentials });
    const store = world.store({ client });

    const error = await world.witness.failureOf(store.read(ELECTION));
    expect(error).toMatchObject({ code: "STORE_UNAUTHENTICATED", mayHaveBeenApplied: false });
    expect(error.message).toContain("Could not load credentials");
    await expect(world.namesDuring(() => world.witness.failureOf(store.acquire(acquiring())))).resolves.toEqual([]);
    client.destroy();
  });

  test("because a region is missing is a configuration error that says what to set", async ({ world }) => {
    const region = async (): Promise<string> => Promise.reject(new Error("Region is missing"));
    const client = clientOf(world.proxy.url, { region });

    const error = await world.witness.failureOf(world.store({ client }).read(ELECTION));

    expect(error).toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("Set AWS_REGION") });
    client.destroy();
  });

  test("because credentials have gone is a renewal that was certainly not carried out", async ({ world }) => {
    let gone = false;
    const client = clientOf(world.proxy.url, {
      credentials: () => {
        if (gone) throw credentialsError("The role is gone");
        return Promise.resolve({ accessKeyId: "any", secretAccessKey: "any", expiration: new Date(0) });
      },
    });
    const store = world.store({ client });
    const lease = await win(store);
    gone = true;
    const error = await world.witness.failureOf(store.renew(lease, LIMITS));
    expect(error).toMatchObject({ code: "STORE_UNAUTHENTICATED", mayHaveBeenApplied: false });
    client.destroy();
  });

  test.for([
    ["nobody listens", "http://127.0.0.1:1", /ECONNREFUSED/],
    ["no such host", "http://nowhere.invalid", /ENOTFOUND|EAI_AGAIN/],
  ] as const)("%s", async ([, endpoint, says], { world }) => {
    const leading = world.store();
    const lease = await win(leading);
    const client = clientOf(endpoint);
    const error = await world.witness.failureOf(world.store({ client }).read(ELECTION));
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
    expect(error.message).toMatch(says);

    // The same in the middle of a term: the client asks for its endpoint at each request.
    let endpointNow = new URL(world.proxy.url);
    const moving = clientOf(world.proxy.url, {
      endpoint: () =>
        Promise.resolve({
          protocol: endpointNow.protocol,
          hostname: endpointNow.hostname,
          port: Number(endpointNow.port) || 80,
          path: "/",
        }),
    });
    const store = world.store({ client: moving });
    await leading.release(lease, LIMITS);
    const moved = await win(store);
    endpointNow = new URL(endpoint);
    await expect(world.witness.failureOf(store.renew(moved, LIMITS))).resolves.toMatchObject({ mayHaveBeenApplied: false });
    client.destroy();
    moving.destroy();
  });
});

describe("what an error says", () => {
  test("the remedy, if the service's own message has none", async ({ world }) => {
    const store = world.store();
    world.proxy.rule = () => refusal(400, "AccessDeniedException");
    expect((await world.witness.failureOf(store.read(ELECTION))).message).toMatch(/dynamodb:GetItem and dynamodb:UpdateItem/);
    world.proxy.rule = undefined;

    const elsewhere = world.store({ tableName: "no-such-table" });
    const error = await world.witness.failureOf(elsewhere.read(ELECTION));
    expect(error).toMatchObject({ code: "STORE_MISSING", mayHaveBeenApplied: false });
    expect(error.message).toMatch(/createTable\(\)/);
    await expect(world.witness.failureOf(elsewhere.acquire(acquiring()))).resolves.toMatchObject({ code: "STORE_MISSING" });
  });

  test("only the first line of the message", async ({ world }) => {
    for (const message of ["x".repeat(10_000), `The service is busy\n${"x".repeat(10_000)}`]) {
      for (const fault of [page(502, message), answer(500, { __type: "InternalServerError", message })]) {
        world.proxy.rule = () => fault;
        const error = await world.witness.failureOf(world.store().read(ELECTION));
        expect(inspect(error, { depth: 10 }).length).toBeLessThan(4_000);
      }
    }
  });

  test("in its cause, the SDK's name, status and request id, and no part of the request", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    world.proxy.rule = () => refusal(500, "InternalServerError");
    const { cause } = await world.witness.failureOf(store.renew(lease, LIMITS));
    expect(cause).toMatchObject({
      name: "InternalServerError",
      $metadata: { httpStatusCode: 500, requestId: "REQUESTID" },
    });
    expect(Object.keys(cause as object).toSorted()).toEqual(["$metadata", "name"]);
  });
});

/** An error of the SDK's credential providers, which is known by its name. */
function credentialsError(message: string): Error {
  return Object.assign(new Error(message), { name: "CredentialsProviderError" });
}

/** A web page, from a server between this process and the service. */
function page(status: number, body: string): Fault {
  return { kind: "answer", status, headers: { "Content-Type": "text/html" }, body: `<html>${body}</html>` };
}

/** A refusal without the headers that the service puts into each of its replies. */
function stranger(status: number, code: string): Fault {
  return {
    kind: "answer",
    status,
    headers: { "Content-Type": "application/x-amz-json-1.0" },
    body: JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${code}`, message: "I am not DynamoDB" }),
  };
}
