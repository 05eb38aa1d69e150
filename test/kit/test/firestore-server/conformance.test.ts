import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { FieldPath, FieldValue, Timestamp } from "@google-cloud/firestore";
import type { CollectionReference, DocumentReference, DocumentSnapshot, Firestore, QuerySnapshot } from "@google-cloud/firestore";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { clientOf, codeOf, servers, type RunningServer } from "./servers.ts";

const OK = 0;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;

/** Our server does as the official emulator does. */
describe.each(servers)("$name", ({ start }) => {
  let server: RunningServer;
  let firestore: Firestore;
  let rival: Firestore;

  beforeAll(async () => {
    server = await start();
    firestore = clientOf(server.host);
    rival = clientOf(server.host);
  });

  afterAll(async () => {
    await Promise.all([firestore.terminate(), rival.terminate()]);
    await server[Symbol.asyncDispose]();
  });

  function freshCollection(): CollectionReference {
    return firestore.collection(`c-${randomUUID()}`);
  }

  function freshDocument(): DocumentReference {
    return freshCollection().doc("d");
  }

  /** A time of no version of any document. */
  const stale = Timestamp.fromMillis(1_000);

  describe("documents", () => {
    test("come back as they were written", async () => {
      const document = freshDocument();
      const data = {
        array: [1, "two", { three: 3 }],
        boolean: true,
        bytes: Buffer.from([0, 255]),
        double: 1.5,
        integer: 42,
        map: { "a.b": { "`": 1 }, empty: {} },
        nan: Number.NaN,
        null: null,
        string: "ö\n\u{1F600}",
        timestamp: new Timestamp(1_700_000_000, 123_456_000),
      };
      await document.create(data);
      expect((await document.get()).data()).toEqual(data);
    });

    test("have the times of their creation and last change", async () => {
      const document = freshDocument();
      const created = await document.create({ n: 1 });
      const updated = await document.update({ n: 2 });
      const found = await document.get();
      expect(found.createTime).toEqual(created.writeTime);
      expect(found.updateTime).toEqual(updated.writeTime);
      expect(found.updateTime! > found.createTime!).toBe(true);
    });

    test("are missing until they are created, and again once they are deleted", async () => {
      const document = freshDocument();
      expect((await document.get()).exists).toBe(false);
      await document.create({});
      expect((await document.get()).exists).toBe(true);
      await document.delete();
      expect((await document.get()).exists).toBe(false);
    });

    test("are dated by the server at each read, later than what was read", async () => {
      const document = freshDocument();
      await document.create({});
      const [first, second] = [await document.get(), await document.get()];
      expect(first.readTime > first.updateTime!).toBe(true);
      expect(second.readTime > first.readTime).toBe(true);
    });

    test("can be read in part, and several at once", async () => {
      const collection = freshCollection();
      await collection.doc("a").create({ n: 1, map: { x: 1, y: 2 } });
      const found = await firestore.getAll(collection.doc("a"), collection.doc("b"), { fieldMask: ["map.x", "none"] });
      expect(found.map((snapshot) => snapshot.data())).toEqual([{ map: { x: 1 } }, undefined]);
    });
  });

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

    test("that fail undo the whole batch", async () => {
      const collection = freshCollection();
      await collection.doc("a").create({ n: 1 });
      const batch = firestore.batch();
      batch.update(collection.doc("a"), { n: 2 });
      batch.create(collection.doc("b"), { n: 2 });
      batch.update(collection.doc("missing"), { n: 2 });
      await expect(codeOf(batch.commit())).resolves.toBe(NOT_FOUND);
      const found = await collection.get();
      expect(found.docs.map((snapshot) => snapshot.data())).toEqual([{ n: 1 }]);
    });

    test("see what earlier writes of the same batch have done", async () => {
      const collection = freshCollection();
      const batch = firestore.batch();
      batch.create(collection.doc("a"), { n: 1 });
      batch.update(collection.doc("a"), { m: 2 });
      batch.create(collection.doc("b"), { n: 1 });
      batch.delete(collection.doc("b"), { exists: true });
      const results = await batch.commit();
      expect(new Set(results.map(({ writeTime }) => writeTime.valueOf())).size).toBe(1);
      const found = await collection.get();
      expect(found.docs.map((snapshot) => snapshot.data())).toEqual([{ n: 1, m: 2 }]);
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
      // An integer has taken the place of a double, or the other way round.
      await document.set({ n: 1.5 });
      expect((await document.get()).updateTime).not.toEqual(before.updateTime);
    });

    test("have later times than all before, in microseconds", async () => {
      const document = freshDocument();
      await document.create({ n: 0 });
      const written: string[] = [];
      for (let n = 1; n <= 30; n++) written.push((await document.update({ n })).writeTime.valueOf());
      expect(written).toEqual([...new Set(written)].toSorted());
      expect((await document.get()).updateTime!.nanoseconds % 1_000).toBe(0);
    });

    test("change the fields of their mask alone", async () => {
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

    test("merge into a document that is not there", async () => {
      const document = freshDocument();
      await document.set({ a: { b: 1 } }, { merge: true });
      expect((await document.get()).data()).toEqual({ a: { b: 1 } });
    });

    test("transform on the server", async () => {
      const document = freshDocument();
      const set = [1, "a", { b: 1 }];
      await document.create({ n: 1, d: 1.5, max: 5, min: 5, text: "t", set, rest: set, map: { n: 1 }, big: 2 ** 53 });
      await document.update({
        n: FieldValue.increment(2),
        d: FieldValue.increment(1),
        text: FieldValue.increment(7),
        missing: FieldValue.increment(-3),
        max: FieldValue.maximum(6),
        min: FieldValue.minimum(6),
        set: FieldValue.arrayUnion("a", 2, 2, { b: 1 }),
        rest: FieldValue.arrayRemove(1, { b: 1 }),
        "map.n": FieldValue.increment(1),
        none: FieldValue.arrayUnion("x"),
      });
      expect((await document.get()).data()).toEqual({
        ...{ n: 3, d: 2.5, max: 6, min: 5, text: 7, missing: -3, map: { n: 2 }, big: 2 ** 53 },
        ...{ set: [...set, 2], rest: ["a"], none: ["x"] },
      });
    });

    test("take the server's time, in milliseconds, not later than their commit", async () => {
      const document = freshDocument();
      await document.create({ at: FieldValue.serverTimestamp(), map: { at: FieldValue.serverTimestamp() } });
      const found = await document.get();
      const at = found.get("at") as Timestamp;
      expect(at.nanoseconds % 1_000_000).toBe(0);
      expect(at <= found.updateTime!).toBe(true);
      expect(found.updateTime!.toMillis() - at.toMillis()).toBeLessThan(1_000);
      expect(found.get("map.at")).toEqual(at);
    });

    test("make no document larger than 1 MiB", async () => {
      const collection = freshCollection();
      // The name: 16 + (the collection's id + 1) + (the document's + 1); the document: 32; the field: 2; the string: 1.
      const room = 1_048_576 - (16 + collection.id.length + 1 + 2) - 32 - 2 - 1;
      await expect(codeOf(collection.doc("a").create({ x: "y".repeat(room + 1) }))).resolves.toBe(INVALID_ARGUMENT);
      await expect(codeOf(collection.doc("a").create({ x: "y".repeat(room) }))).resolves.toBe(OK);
    });

    test("in bulk succeed and fail one by one", async () => {
      const collection = freshCollection();
      await collection.doc("a").create({});
      const writer = firestore.bulkWriter();
      const created = codeOf(writer.create(collection.doc("a"), {}));
      const set = codeOf(writer.set(collection.doc("b"), { n: 1 }));
      await writer.close();
      await expect(Promise.all([created, set])).resolves.toEqual([ALREADY_EXISTS, OK]);
    });
  });

  describe("transactions", () => {
    test("commit what they have read and written", async () => {
      const collection = freshCollection();
      await collection.doc("a").create({ n: 1 });
      const result = await firestore.runTransaction(async (transaction) => {
        const [a, b] = await transaction.getAll(collection.doc("a"), collection.doc("b"));
        transaction.update(a!.ref, { n: 2 });
        transaction.create(b!.ref, { n: 3 });
        return "result";
      });
      expect(result).toBe("result");
      const found = await collection.get();
      expect(found.docs.map((snapshot) => snapshot.data())).toEqual([{ n: 2 }, { n: 3 }]);
    });

    test("give the server's time at each read", async () => {
      const document = freshDocument();
      await document.create({});
      await firestore.runTransaction(async (transaction) => {
        const first = await transaction.get(document);
        const second = await transaction.get(document);
        expect(first.readTime > first.updateTime!).toBe(true);
        expect(second.readTime >= first.readTime).toBe(true);
      });
    });

    test("fail with a precondition of theirs, which is not tried again", async () => {
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

    test("that are given up change nothing, and free what they have read", async () => {
      const document = freshDocument();
      await document.create({ n: 1 });
      const run = firestore.runTransaction(async (transaction) => {
        await transaction.get(document);
        transaction.update(document, { n: 2 });
        throw new Error("given up");
      });
      await expect(run).rejects.toThrow("given up");
      await rival.doc(document.path).update({ n: 3 });
      expect((await document.get()).get("n")).toBe(3);
    });

    test("that are read-only read, and write nothing", async () => {
      const document = freshDocument();
      await document.create({ n: 1 });
      const n = await firestore.runTransaction(async (transaction) => (await transaction.get(document)).get("n") as number, {
        readOnly: true,
      });
      expect(n).toBe(1);
    });
  });

  describe("queries", () => {
    test("find by equality, in the order of names, up to a limit", async () => {
      const collection = freshCollection();
      await Promise.all([
        collection.doc("c").create({ kind: "x", n: 1 }),
        collection.doc("a").create({ kind: "x", n: 1 }),
        collection.doc("b").create({ kind: "y", n: null }),
        collection.doc("d").create({ kind: "x", n: 2 }),
        collection.doc("a").collection("below").doc("e").create({ kind: "x" }),
      ]);
      const idsOf = async (query: FirebaseFirestore.Query): Promise<readonly string[]> =>
        (await query.get()).docs.map(({ id }) => id);
      await expect(idsOf(collection)).resolves.toEqual(["a", "b", "c", "d"]);
      await expect(idsOf(collection.where("kind", "==", "x"))).resolves.toEqual(["a", "c", "d"]);
      await expect(idsOf(collection.where("kind", "==", "x").where("n", "==", 1))).resolves.toEqual(["a", "c"]);
      await expect(idsOf(collection.where("kind", "==", "x").offset(1).limit(1))).resolves.toEqual(["c"]);
      await expect(idsOf(collection.where("n", "==", null))).resolves.toEqual(["b"]);
      await expect(idsOf(collection.where(FieldPath.documentId(), "==", "c"))).resolves.toEqual(["c"]);
      await expect(idsOf(collection.where("none", "==", 1))).resolves.toEqual([]);
      await expect(idsOf(collection.doc("a").collection("below"))).resolves.toEqual(["e"]);
      const selected = await collection.where("n", "==", 2).select("n").get();
      expect(selected.docs.map((snapshot) => snapshot.data())).toEqual([{ n: 2 }]);
    });

    test("are dated, with and without a result", async () => {
      const collection = freshCollection();
      const before = await collection.get();
      const { writeTime } = await collection.doc("a").create({});
      const after = await collection.get();
      expect(before.readTime < writeTime).toBe(true);
      expect(after.readTime > writeTime).toBe(true);
    });
  });

  describe("listeners", () => {
    test("see a document come, change and go", async () => {
      const document = freshDocument();
      const seen = new Snapshots<DocumentSnapshot>((next, failed) => document.onSnapshot(next, failed));
      expect((await seen.next()).exists).toBe(false);
      await rival.doc(document.path).create({ n: 1 });
      const created = await seen.next();
      expect(created.data()).toEqual({ n: 1 });
      const { writeTime } = await rival.doc(document.path).update({ n: 2 });
      const updated = await seen.next();
      expect(updated.data()).toEqual({ n: 2 });
      expect(updated.updateTime).toEqual(writeTime);
      expect(updated.readTime >= writeTime).toBe(true);
      await rival.doc(document.path).delete();
      expect((await seen.next()).exists).toBe(false);
    });

    test("see a document that was there before", async () => {
      const document = freshDocument();
      await document.create({ n: 1 });
      const seen = new Snapshots<DocumentSnapshot>((next, failed) => document.onSnapshot(next, failed));
      expect((await seen.next()).data()).toEqual({ n: 1 });
    });

    test("see the results of a query come, change and go, each commit as a whole", async () => {
      const collection = freshCollection();
      const seen = new Snapshots<QuerySnapshot>((next, failed) => collection.where("kind", "==", "x").onSnapshot(next, failed));
      const changes = async (): Promise<readonly string[]> =>
        (await seen.next()).docChanges().map(({ type, doc }) => `${type} ${doc.id}`);
      await expect(changes()).resolves.toEqual([]);

      const others = rival.collection(collection.path);
      const batch = rival.batch();
      for (const id of ["a", "b", "c"]) batch.create(others.doc(id), { kind: "x" });
      batch.create(others.doc("d"), { kind: "y" });
      await batch.commit();
      await expect(changes()).resolves.toEqual(["added a", "added b", "added c"]);

      const second = rival.batch();
      second.update(others.doc("a"), { kind: "y" });
      second.update(others.doc("b"), { n: 1 });
      second.delete(others.doc("c"));
      second.update(others.doc("d"), { kind: "x" });
      await second.commit();
      await expect(changes()).resolves.toEqual(["removed a", "removed c", "added d", "modified b"]);
    });
  });
});

/** The snapshots of a listener, one after the other. It is closed when the test ends. */
class Snapshots<Snapshot> {
  readonly #arrived: Snapshot[] = [];
  readonly #arrival = new EventTarget();

  constructor(listen: (next: (snapshot: Snapshot) => void, failed: (error: Error) => void) => () => void) {
    const stop = listen(
      (snapshot) => {
        this.#arrived.push(snapshot);
        this.#arrival.dispatchEvent(new Event("snapshot"));
      },
      (error) => expect.fail(String(error)),
    );
    onTestFinished(stop);
  }

  async next(): Promise<Snapshot> {
    const snapshot = this.#arrived.shift();
    if (snapshot !== undefined) return snapshot;
    await once(this.#arrival, "snapshot");
    return await this.next();
  }
}
