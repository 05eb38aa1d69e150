import { Firestore } from "@google-cloud/firestore";
import { ConfigurationError, isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import { systemClock } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { FENCE_PATH, LEASE_PATH } from "./firestore-world.ts";
import { test } from "./world-test.ts";

interface Failure {
  /** The gRPC code: https://grpc.io/docs/guides/status-codes/ */
  readonly code: number;
  readonly storeCode: StoreErrorCode;
  /** True if a write may have been carried out. */
  readonly applied: boolean;
  readonly says?: RegExp;
}

/** A failure of each kind. `error-texts.test.ts` has the table of all codes. */
const FAILURES: Readonly<Record<string, Failure>> = {
  PERMISSION_DENIED: { code: 7, storeCode: "STORE_DENIED", applied: false, says: /datastore\.entities\.get.*Datastore User/ },
  ABORTED: { code: 10, storeCode: "STORE_CONFLICT", applied: false },
  UNAVAILABLE: { code: 14, storeCode: "STORE_UNAVAILABLE", applied: true },
};
/** The code of a write that conflicted with another client's transaction. The engine sends it again after a few milliseconds. */
const SENT_AGAIN = 10;
const REAL_TIME = { clock: systemClock };
/** Google's authentication searches for a metadata server in real time, for some seconds. */
const PATIENT = { timeoutMs: 60_000 };
const UNKNOWN_OUTCOMES = Object.entries(FAILURES).filter(([, { applied }]) => applied);

describe("before anything is sent", () => {
  test("without credentials, each request and each watch says so, and leaves no rejection that would end the process", async ({
    world,
  }) => {
    const firestore = new Firestore({ projectId: "acme" });
    const store = world.store({ ...REAL_TIME, firestore });
    const error = { code: "STORE_UNAUTHENTICATED", mayHaveBeenApplied: false };

    for (let tries = 0; tries < 2; tries += 1) {
      await expect(store.read(ELECTION, PATIENT)).rejects.toMatchObject(error);
      await expect(store.acquire(acquiring(PATIENT))).rejects.toMatchObject(error);
      await expect(store.watch!(ELECTION, { signal: world.ended })[Symbol.asyncIterator]().next()).rejects.toMatchObject(error);
    }

    await firestore.terminate();
  });

  test("a missing project is a configuration error that says what to set", async ({ world }) => {
    const store = world.store({ ...REAL_TIME, firestore: new Firestore() });

    const error = await world.witness.failureOf(store.read(ELECTION, PATIENT));

    expect(error).toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("GOOGLE_CLOUD_PROJECT") });
  });
});

describe("a failure without information about the leader is an error with its details", () => {
  test.for(Object.entries(FAILURES))("%s", async ([name, { code, storeCode, applied, says }], { world }) => {
    const store = world.store(REAL_TIME);
    const lease = await win(store);
    const message = `The words of ${name}\nand what nobody needs`;
    const attempts = [
      ["get", () => store.read(ELECTION)],
      ["put", () => store.renew(lease, LIMITS)],
      ["put", () => store.publish(lease, "value", LIMITS)],
      ["put", () => store.release(lease, LIMITS)],
    ] as const;

    for (const [operation, attempt] of attempts) {
      world.rule = undefined;
      await store.renew(lease, LIMITS);
      world.fault(operation === "get" ? "BatchGetDocuments" : "Commit", { code, message });
      const error = await world.witness.failureOf(attempt());

      expect(error).toBeInstanceOf(StoreError);
      expect(isLeaseholdError(error, storeCode)).toBe(true);
      expect(error).toMatchObject({
        store: "firestore",
        operation,
        election: ELECTION,
        code: storeCode,
        mayHaveBeenApplied: operation === "put" && applied,
        cause: { code },
      });
      expect(error.message).toContain(`'${operation}' of '${ELECTION}' failed with gRPC code ${code}: `);
      expect(error.message).toContain(`The words of ${name}.`);
      expect(error.message.split("\n")).toHaveLength(1);
      // The cause is not the SDK's own error, which may contain anything.
      expect(Object.keys(error.cause as Error)).toEqual(["code"]);
      expect(error.message).toMatch(says ?? /The words of \w+\.$/);
    }
  });

  test.for(Object.entries(FAILURES))("%s to an acquisition that was not carried out", async ([, failure], { world }) => {
    const store = world.store(REAL_TIME);
    await store.release(await win(store), LIMITS);
    if (failure.code === SENT_AGAIN) world.fault("Commit", { code: failure.code, message: "as asked" });
    else world.faultOnce("Commit", { code: failure.code, message: "as asked" });
    const outcome = store.acquire(acquiring());

    const { storeCode: code, applied: mayHaveBeenApplied } = failure;
    await expect(world.witness.failureOf(outcome)).resolves.toMatchObject({ code, mayHaveBeenApplied });
    // The failed request blocks no candidate.
    world.rule = undefined;
    await expect(win(world.store(), { candidateId: "b" })).resolves.toMatchObject({ term: 2 });
  });

  test("ABORTED once, by a conflicting transaction, costs only a second request", async ({ world }) => {
    const store = world.store(REAL_TIME);
    await store.read(ELECTION);
    for (const attempt of [
      async () => void (await win(store)),
      async () => void (await store.break(ELECTION, { reason: "test", immediate: true })),
    ]) {
      world.faultOnce("Commit", { code: SENT_AGAIN, message: "as asked" });
      const methods = await world.methodsDuring(attempt);
      expect(methods.filter((method) => method === "Commit")).toHaveLength(2);
    }
  });
});

describe("a reply that is lost after the commit", () => {
  test.for(UNKNOWN_OUTCOMES)("of an acquisition (%s): it was won", async ([, { code }], { world }) => {
    const store = world.store();
    world.faultOnce("Commit", { code, message: "as asked", afterCommit: true });

    const methods = await world.methodsDuring(async () => {
      const lease = await win(store);
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    });

    expect(methods).toEqual(["BatchGetDocuments", "Commit", "BatchGetDocuments", "Commit"]);
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "held", term: 1, holder: "a" });
  });

  test("of an acquisition, and of the read after it: there is no leader, and this process may acquire", async ({ world }) => {
    const store = world.store();
    await store.release(await win(store), LIMITS);
    world.rule = async ({ method }) =>
      method === "Commit" ? { code: 14, message: "as asked", afterCommit: true } : { code: 14, message: "as asked" };
    await expect(world.witness.failureOf(store.acquire(acquiring()))).resolves.toMatchObject({ mayHaveBeenApplied: true });
    world.rule = undefined;

    // This process sees its own record as vacant. All others are blocked until it runs out.
    await expect(world.store().acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 2 });
    await expect(win(store)).resolves.toMatchObject({ term: 3 });
  });

  // This also holds if the code says that nothing was carried out: the next write finds another version than it knew.
  test.for(Object.entries(FAILURES))(
    "of a renewal (%s): the next one finds it, and is granted",
    async ([, failure], { world }) => {
      const store = world.store(REAL_TIME);
      const lease = await win(store);
      world.faultOnce("Commit", { code: failure.code, message: "as asked", afterCommit: true });
      const renewal = store.renew(lease, LIMITS);
      // The engine's second try already finds the first.
      if (failure.code === SENT_AGAIN) await expect(renewal).resolves.toMatchObject({ held: true });
      else await expect(world.witness.failureOf(renewal)).resolves.toMatchObject({ mayHaveBeenApplied: failure.applied });

      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
      await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "held", term: 1 });
    },
  );

  test.for(Object.entries(FAILURES))(
    "of a release (%s): it is free, and the next call knows",
    async ([, { code }], { world }) => {
      const store = world.store(REAL_TIME);
      const lease = await win(store);
      world.faultOnce("Commit", { code, message: "as asked", afterCommit: true });
      const release = store.release(lease, LIMITS);
      if (code === SENT_AGAIN) await expect(release).resolves.toBe("released");
      else await world.witness.failureOf(release);

      await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "vacant", term: 1 });
      // After the reply, no lease of this process is left.
      await expect(store.release(lease, LIMITS)).resolves.toBe(code === SENT_AGAIN ? "not-held" : "released");
      await expect(world.fieldsAt(FENCE_PATH)).resolves.toEqual({ term: 1, termId: null });
    },
  );
});

describe("a precondition that does not hold is an answer", () => {
  test("ALREADY_EXISTS: another candidate was first", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    const late = world.holdOnce("Commit");
    const acquisition = a.acquire(acquiring());
    await late.arrived;
    await win(b, { candidateId: "b" });
    await late.letGo();

    await expect(acquisition).resolves.toMatchObject({ acquired: false });
    await expect(world.store().read(ELECTION)).resolves.toMatchObject({ state: "held", holder: "b", term: 1 });
  });

  test("FAILED_PRECONDITION: the document was written since", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    await a.release(await win(a), LIMITS);
    await b.read(ELECTION);
    await win(a);
    await expect(b.acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
  });

  test.for([
    ["FAILED_PRECONDITION", undefined],
    // A failed precondition: https://cloud.google.com/firestore/docs/reference/rpc/google.firestore.v1#precondition
    ["NOT_FOUND", { code: 5, message: `No document to update: projects/demo-x/databases/(default)/documents/${LEASE_PATH}` }],
    ["NOT_FOUND, in Datastore's words", { code: 5, message: 'no entity to update: app: "dev~demo-x"' }],
  ] as const)("the document is gone (%s): the lease is lost", async ([, fault], { world }) => {
    const store = world.store();
    const lease = await win(store);
    await world.aside((firestore) => firestore.doc(LEASE_PATH).delete());
    if (fault) world.fault("Commit", fault);

    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "missing" });
    await expect(store.release(lease, LIMITS)).resolves.toBe("not-held");
    await expect(store.read(ELECTION)).resolves.toBeUndefined();
  });

  test("repeated writes of others are a conflict", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    world.fault("Commit", { code: 9, message: "the stored version does not match the required base version" });
    await expect(world.witness.failureOf(store.renew(lease, LIMITS))).resolves.toMatchObject({
      code: "STORE_CONFLICT",
      mayHaveBeenApplied: false,
    });
  });
});

describe("a wrong setup", () => {
  test("a missing database is an error, and neither a vacant lease nor a loss", async ({ world }) => {
    const store = world.store({ firestore: world.client({ databaseId: "nowhere" }) });
    const stored = expect.objectContaining({
      code: "STORE_MISSING",
      message: expect.stringMatching(/The database nowhere does not exist for project demo-x\. Create the database first/),
    });
    await expect(world.witness.failureOf(store.read(ELECTION))).resolves.toEqual(stored);
    await expect(world.witness.failureOf(store.acquire(acquiring()))).resolves.toEqual(stored);

    // A database that disappears while a leader runs.
    const holder = world.store();
    const lease = await win(holder);
    world.rule = async () => ({ code: 5, message: "The database (default) does not exist for project demo-x." });
    await expect(world.witness.failureOf(holder.renew(lease, LIMITS))).resolves.toMatchObject({ code: "STORE_MISSING" });
    world.rule = undefined;
    await expect(holder.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("an invalid name or value is refused before any request", async ({ world }) => {
    const store = world.store();
    const methods = await world.methodsDuring(async () => {
      await expect(store.read("")).rejects.toBeInstanceOf(ConfigurationError);
      await expect(store.read("\uD800")).rejects.toBeInstanceOf(ConfigurationError);
      await expect(store.acquire(acquiring({ value: "x".repeat(65_537) }))).rejects.toBeInstanceOf(ConfigurationError);
    });
    expect(methods).toEqual([]);
  });

  test("a client that was terminated is unavailable, and nothing was sent", async ({ world }) => {
    const firestore = world.client();
    const store = world.store({ firestore });
    const lease = await win(store);
    await world.disconnect(firestore);
    await expect(world.witness.failureOf(store.read(ELECTION))).resolves.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(world.witness.failureOf(store.renew(lease, LIMITS))).resolves.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });
});

describe("the diagnostics channel", () => {
  test("publishes every request once, with its operation and outcome, and no secret", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    world.faultOnce("Commit", { code: 8, message: "as asked" });
    await world.witness.failureOf(store.renew(lease, LIMITS));
    await store.release(lease, LIMITS);

    const told = world.witness.published.map(({ operation, outcome }) => `${operation}: ${outcome}`);
    expect(told).toEqual(["get: ok", "put: ok", "put: ok", "put: STORE_THROTTLED", "put: ok"]);
    expect(told).toHaveLength(world.calls.length);
    for (const request of world.witness.published) expect(request).toMatchObject({ store: "firestore", election: ELECTION });
  });

  test("the description of a loss shows no secret", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await world.store().break(ELECTION, { reason: "test", immediate: true });
    world.witness.hear(await store.renew(lease, LIMITS));
    await win(world.store(), { candidateId: "b" });
    world.witness.hear(await store.renew(lease, LIMITS));
    world.witness.hear(await store.read(ELECTION));
    await expect(
      world.witness.failureOf(world.client().runTransaction((transaction) => store.fence({ ...lease }, transaction))),
    ).resolves.toMatchObject({ code: "FENCED" });
  });
});
