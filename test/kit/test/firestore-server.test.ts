import { randomUUID } from "node:crypto";
import { FieldPath, FieldValue, Firestore, Timestamp } from "@google-cloud/firestore";
import type { CollectionReference, DocumentReference } from "@google-cloud/firestore";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { officialFirestoreMissing, startOfficialFirestore } from "../backends/official-firestore.ts";
import { startFirestoreServer } from "../firestore-server/index.ts";
import { RawFirestoreClient } from "./raw-firestore-client.ts";

const OK = 0;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;
const UNIMPLEMENTED = 12;

/** A server that a test can use. */
interface RunningServer extends AsyncDisposable {
  readonly host: string;
}

async function startOurs(): Promise<RunningServer> {
  const server = await startFirestoreServer({ databases: ["(default)", "other"] });
  return { host: server.url, [Symbol.asyncDispose]: () => server.stop() };
}

const ours = { name: "our server", start: startOurs };
const official = { name: "the official emulator", start: startOfficialFirestore as () => Promise<RunningServer> };
const servers = (await officialFirestoreMissing()) === undefined ? [ours, official] : [ours];

/**
 * Tests what the tests of @leasehold/firestore and its conformance would not notice. Our server must refuse what the service
 * refuses, with the same codes, and must not do less than it is asked for. It must behave as the official emulator, if that is
 * installed.
 */
describe.each(servers)("$name", ({ start }) => {
  let server: RunningServer;
  let firestore: Firestore;

  beforeAll(async () => {
    // Without this the client looks for a metadata server first.
    process.env["METADATA_SERVER_DETECTION"] = "none";
    server = await start();
    firestore = clientOf(server.host);
  });

  afterAll(async () => {
    await firestore.terminate();
    await server[Symbol.asyncDispose]();
  });

  function freshCollection(): CollectionReference {
    return firestore.collection(`c-${randomUUID()}`);
  }

  function freshDocument(): DocumentReference {
    return freshCollection().doc("d");
  }

  /** A time that no version of any document has. */
  const stale = Timestamp.fromMillis(1_000);

  describe("preconditions", () => {
    test("fail as the service's do", async () => {
      const document = freshDocument();
      await expect(codeOf(document.update({ n: 1 }))).resolves.toBe(NOT_FOUND);
      await expect(codeOf(document.delete({ exists: true }))).resolves.toBe(NOT_FOUND);
      await expect(codeOf(document.create({ n: 1 }))).resolves.toBe(OK);
      await expect(codeOf(document.create({ n: 2 }))).resolves.toBe(ALREADY_EXISTS);
      await expect(codeOf(document.update({ n: 3 }, { lastUpdateTime: stale }))).resolves.toBe(FAILED_PRECONDITION);
      await expect(codeOf(document.delete({ lastUpdateTime: stale }))).resolves.toBe(FAILED_PRECONDITION);
      expect((await document.get()).data()).toEqual({ n: 1 });

      const { updateTime } = await document.get();
      await expect(codeOf(document.update({ n: 4 }, { lastUpdateTime: updateTime! }))).resolves.toBe(OK);
      await expect(codeOf(document.delete({ lastUpdateTime: updateTime! }))).resolves.toBe(FAILED_PRECONDITION);
      const { updateTime: newer } = await document.get();
      await expect(codeOf(document.delete({ lastUpdateTime: newer! }))).resolves.toBe(OK);
    });

    test("on the version of a missing document fail too", async () => {
      const document = freshDocument();
      await expect(codeOf(document.update({ n: 1 }, { lastUpdateTime: stale }))).resolves.toBe(FAILED_PRECONDITION);
      await expect(codeOf(document.delete({ lastUpdateTime: stale }))).resolves.toBe(FAILED_PRECONDITION);
      await expect(codeOf(document.delete())).resolves.toBe(OK);
    });

    test("that fail cancel the whole batch", async () => {
      const [a, b] = [freshDocument(), freshDocument()];
      await a.create({ n: 1 });
      const batch = firestore.batch().update(a, { n: 2 }).create(b, { n: 2 }).update(freshDocument(), { n: 2 });
      await expect(codeOf(batch.commit())).resolves.toBe(NOT_FOUND);
      expect((await a.get()).data()).toEqual({ n: 1 });
      expect((await b.get()).exists).toBe(false);
    });

    test("see the effects of earlier writes of the same batch", async () => {
      const [a, b] = [freshDocument(), freshDocument()];
      const batch = firestore.batch().create(a, { n: 1 }).update(a, { m: 2 }).create(b, { n: 1 }).delete(b, { exists: true });
      const results = await batch.commit();
      expect(new Set(results.map(({ writeTime }) => writeTime.valueOf())).size).toBe(1);
      expect((await a.get()).data()).toEqual({ n: 1, m: 2 });
      expect((await b.get()).exists).toBe(false);
    });
  });

  describe("writes", () => {
    test("that change nothing keep the version", async () => {
      const document = freshDocument();
      await document.create({ n: 1 });
      const before = await document.get();
      await document.update({ n: 1 }, { lastUpdateTime: before.updateTime! });
      await document.set({ n: 1 });
      expect((await document.get()).updateTime).toEqual(before.updateTime);
      // An integer replaces a double, or the other way round.
      await document.set({ n: 1.5 });
      expect((await document.get()).updateTime).not.toEqual(before.updateTime);
    });

    test("change only the fields of their mask", async () => {
      const document = freshDocument();
      await document.create({ keep: 1, gone: 2, map: { keep: 3, gone: 4, "a.b": 5 } });
      await document.update({
        gone: FieldValue.delete(),
        "map.gone": FieldValue.delete(),
        "none.gone": FieldValue.delete(),
        "map.added": { x: 6 },
        keep: 7,
      });
      await document.update(new FieldPath("map", "a.b"), 8, new FieldPath("`\\"), 9);
      await document.set({ merged: { y: 10 } }, { merge: true });
      expect((await document.get()).data()).toEqual({
        keep: 7,
        map: { keep: 3, "a.b": 8, added: { x: 6 } },
        "`\\": 9,
        merged: { y: 10 },
      });
      await document.set({ all: "new" });
      expect((await document.get()).data()).toEqual({ all: "new" });
    });

    test("make no document larger than 1 MiB", async () => {
      const collection = freshCollection();
      // The name takes 16 + (the collection's id + 1) + (the document's + 1). The document takes 32, the field 2, and the string
      // 1.
      const room = 1_048_576 - (16 + collection.id.length + 1 + 2) - 32 - 2 - 1;
      await expect(codeOf(collection.doc("a").create({ x: "y".repeat(room + 1) }))).resolves.toBe(INVALID_ARGUMENT);
      await expect(codeOf(collection.doc("a").create({ x: "y".repeat(room) }))).resolves.toBe(OK);
    });
  });

  describe("transactions", () => {
    test("fail with a precondition of their own, without a retry", async () => {
      const document = freshDocument();
      await document.create({ n: 1 });
      let attempts = 0;
      const run = firestore.runTransaction(async (transaction) => {
        attempts++;
        await transaction.get(document);
        transaction.update(document, { n: 2 }, { lastUpdateTime: stale });
      });
      await expect(codeOf(run)).resolves.toBe(FAILED_PRECONDITION);
      expect(attempts).toBe(1);
      expect((await document.get()).get("n")).toBe(1);
    });

    test("that are abandoned change nothing", async () => {
      const document = freshDocument();
      await document.create({ n: 1 });
      const run = firestore.runTransaction(async (transaction) => {
        await transaction.get(document);
        transaction.update(document, { n: 2 });
        throw new Error("given up");
      });
      await expect(run).rejects.toThrow("given up");
      expect((await document.get()).get("n")).toBe(1);
    });
  });
});

describe("our server alone", () => {
  let server: RunningServer;
  let firestore: Firestore;

  beforeAll(async () => {
    server = await startOurs();
    firestore = clientOf(server.host);
  });

  afterAll(async () => {
    await firestore.terminate();
    await server[Symbol.asyncDispose]();
  });

  // In the official emulator writers wait for readers instead, so nothing changes under a transaction there.
  test.each([
    ["what it has not found is there", false],
    ["what it has read was replaced by the same", true],
  ])("aborts a transaction if %s", async (_, isThere) => {
    const document = firestore.doc(`aborted/${String(isThere)}`);
    if (isThere) await document.create({ n: 1 });
    const run = firestore.runTransaction(
      async (transaction) => {
        await transaction.get(document);
        await firestore.batch().delete(document).create(document, { n: 1 }).commit();
        transaction.set(firestore.doc("aborted/other"), {});
      },
      { maxAttempts: 1 },
    );
    await expect(codeOf(run)).resolves.toBe(ABORTED);
  });

  test("accepts the id of a transaction for one commit, and for none after a rollback", async () => {
    using client = new RawFirestoreClient(server.host);
    const committed = await client.call("BeginTransaction", {});
    await expect(codeOf(client.call("Commit", committed))).resolves.toBe(OK);
    await expect(codeOf(client.call("Commit", committed))).resolves.toBe(INVALID_ARGUMENT);
    const rolledBack = await client.call("BeginTransaction", { options: { readWrite: { retryTransaction: Buffer.from("x") } } });
    await client.call("Rollback", rolledBack);
    // Clients retry because of these words.
    await expect(client.call("Commit", rolledBack)).rejects.toMatchObject({
      code: INVALID_ARGUMENT,
      details: expect.stringContaining("transaction has expired"),
    });
  });

  test("refuses the name of a document that is invalid, or in another database", async () => {
    using client = new RawFirestoreClient(server.host);
    const names = [client.name("a"), client.name("a//b"), "projects/demo-x/databases/other/documents/a/a", ""];
    for (const name of names) {
      await expect(codeOf(client.call("Commit", { writes: [{ delete: name }] }))).resolves.toBe(INVALID_ARGUMENT);
      await expect(codeOf(client.stream("BatchGetDocuments", { documents: [name] }))).resolves.toBe(INVALID_ARGUMENT);
    }
    await expect(codeOf(client.call("Commit", { database: "default" }))).resolves.toBe(INVALID_ARGUMENT);
  });

  test("answers unknown requests with UNIMPLEMENTED, and never wrongly", async () => {
    const collection = firestore.collection("unimplemented");
    await collection.doc("a").create({ n: 1 });
    const readTime = (await collection.doc("a").get()).updateTime!;
    using client = new RawFirestoreClient(server.host);
    const requests = [
      () => collection.get(),
      () => collection.doc("b").create({ at: FieldValue.serverTimestamp() }),
      () => firestore.getAll(collection.doc("a"), { fieldMask: ["n"] }),
      () => firestore.listCollections(),
      () => firestore.runTransaction((transaction) => transaction.get(collection.doc("a")), { readOnly: true, readTime }),
      () => client.call("BeginTransaction", { options: { readOnly: {} } }),
    ];
    for (const request of requests) await expect(codeOf(request())).resolves.toBe(UNIMPLEMENTED);
    const failed = Promise.withResolvers<unknown>();
    onTestFinished(collection.onSnapshot(() => {}, failed.resolve));
    await expect(failed.promise).resolves.toMatchObject({ message: expect.stringContaining("does not implement") });
  });
});

/** Returns a client of the server at `host`. Terminate it, because it holds a socket. */
function clientOf(host: string): Firestore {
  // Without this the client repeats every failed read twice, whatever the error, which takes seven seconds.
  return new Firestore({ projectId: "demo-x", host, ssl: false, gaxServerStreamingRetries: true });
}

/** Returns the gRPC status code with which `request` fails, or 0. */
async function codeOf(request: Promise<unknown>): Promise<unknown> {
  return await request.then(
    () => OK,
    (error: unknown) => (error as { readonly code?: unknown }).code ?? error,
  );
}
