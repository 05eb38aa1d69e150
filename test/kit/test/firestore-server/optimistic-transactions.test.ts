import { randomUUID } from "node:crypto";
import type { CollectionReference, Firestore } from "@google-cloud/firestore";
import { startFirestoreServer, type FirestoreServer } from "../../firestore-server/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";
import { clientOf, codeOf } from "./servers.ts";

const OK = 0;
const INVALID_ARGUMENT = 3;
const ABORTED = 10;

/*
 * Here a transaction finds out at its commit that it is too late. The official emulator lets the writers wait for the
 * readers instead, so that nothing changes under a transaction there.
 */
let server: FirestoreServer;
let nowMs = Date.now();
let firestore: Firestore;
let rival: Firestore;

beforeAll(async () => {
  server = await startFirestoreServer({ now: () => nowMs });
  firestore = clientOf(server.url);
  rival = clientOf(server.url);
});

afterAll(async () => {
  await Promise.all([firestore.terminate(), rival.terminate()]);
  await server.stop();
});

function freshCollection(): CollectionReference {
  return firestore.collection(`c-${randomUUID()}`);
}

describe("transactions", () => {
  test("abort if what they have read has changed, and are tried again", async () => {
    const document = freshCollection().doc("d");
    await document.create({ n: 1 });
    const read: unknown[] = [];
    await firestore.runTransaction(async (transaction) => {
      const found = await transaction.get(document);
      read.push(found.get("n"));
      if (read.length === 1) await rival.doc(document.path).update({ n: 10 });
      transaction.update(document, { n: (found.get("n") as number) + 1 });
    });
    expect(read).toEqual([1, 10]);
    expect((await document.get()).get("n")).toBe(11);
  });

  test("abort if what they have not found is there, or was replaced", async () => {
    const collection = freshCollection();
    await collection.doc("replaced").create({ n: 1 });
    const disturbances = {
      missing: () => rival.doc(collection.doc("missing").path).create({}),
      replaced: async () => {
        const document = rival.doc(collection.doc("replaced").path);
        await document.delete();
        await document.create({ n: 1 });
      },
    };
    for (const [id, disturb] of Object.entries(disturbances)) {
      const run = firestore.runTransaction(
        async (transaction) => {
          await transaction.get(collection.doc(id));
          await disturb();
          transaction.set(collection.doc("other"), {});
        },
        { maxAttempts: 1 },
      );
      await expect(codeOf(run)).resolves.toBe(ABORTED);
    }
  });

  test("abort if a query of theirs has another result", async () => {
    const collection = freshCollection();
    await collection.doc("a").create({ kind: "x" });
    const disturbed = async (disturb: () => Promise<unknown>): Promise<unknown> =>
      await codeOf(
        firestore.runTransaction(
          async (transaction) => {
            await transaction.get(collection.where("kind", "==", "x"));
            await disturb();
            transaction.set(collection.doc("other"), {});
          },
          { maxAttempts: 1 },
        ),
      );
    const others = rival.collection(collection.path);
    await expect(disturbed(() => others.doc("b").create({ kind: "x" }))).resolves.toBe(ABORTED);
    await expect(disturbed(() => others.doc("a").update({ n: 1 }))).resolves.toBe(ABORTED);
    await expect(disturbed(() => others.doc("c").create({ kind: "y" }))).resolves.toBe(OK);
  });
});

describe("the id of a transaction", () => {
  test.each([
    ["is idle", [61_000]],
    ["goes on for too long", [59_000, 59_000, 59_000, 59_000, 59_000]],
  ])("expires when it %s", async (_, pausesMs) => {
    using client = new RawClient(server.url);
    const { transaction } = await client.call("BeginTransaction", {});
    const read = async (): Promise<unknown> =>
      await codeOf(client.stream("BatchGetDocuments", { documents: [client.name("d/d")], transaction }));
    const codes: unknown[] = [];
    for (const pauseMs of pausesMs) {
      nowMs += pauseMs;
      codes.push(await read());
    }
    expect(codes).toEqual([...pausesMs.slice(1).map(() => OK), INVALID_ARGUMENT]);
  });

  test("is good for one commit, and for none after a rollback", async () => {
    using client = new RawClient(server.url);
    const committed = await client.call("BeginTransaction", {});
    await expect(codeOf(client.call("Commit", committed))).resolves.toBe(OK);
    await expect(codeOf(client.call("Commit", committed))).resolves.toBe(INVALID_ARGUMENT);
    const rolledBack = await client.call("BeginTransaction", { options: { readWrite: { retryTransaction: Buffer.from("x") } } });
    await client.call("Rollback", rolledBack);
    const late = client.call("Commit", rolledBack);
    // By these words clients know that they may try again.
    await expect(late).rejects.toMatchObject({
      code: INVALID_ARGUMENT,
      details: expect.stringContaining("transaction has expired"),
    });
  });

  test("commits no write if it is read-only", async () => {
    using client = new RawClient(server.url);
    const begun = await client.call("BeginTransaction", { options: { readOnly: {} } });
    const written = client.call("Commit", { ...begun, writes: [{ delete: client.name("d/d") }] });
    await expect(codeOf(written)).resolves.toBe(INVALID_ARGUMENT);
  });
});
