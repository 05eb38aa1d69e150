import { createServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { DocumentSnapshot, QuerySnapshot } from "@google-cloud/firestore";
import { startFirestoreServer } from "../../firestore-server/index.ts";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RawClient } from "./raw-client.ts";
import { clientOf, codeOf } from "./servers.ts";

const OK = 0;
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const UNIMPLEMENTED = 12;

/** A client that is terminated when the test ends. */
function temporaryClient(...args: Parameters<typeof clientOf>): ReturnType<typeof clientOf> {
  const client = clientOf(...args);
  onTestFinished(() => client.terminate());
  return client;
}

describe("the server", () => {
  test("comes back on the same port, empty", async () => {
    const first = await startFirestoreServer();
    const firestore = temporaryClient(first.url);
    await firestore.doc("a/a").create({});
    await first.stop();
    await first.stop();

    await using second = await startFirestoreServer({ port: first.port });
    expect(second.url).toBe(first.url);
    expect((await firestore.doc("a/a").get()).exists).toBe(false);
  });

  test("goes on with the listeners of the one before it", async () => {
    const first = await startFirestoreServer();
    const firestore = temporaryClient(first.url);
    await firestore.doc("a/a").create({ n: 1 });
    const documents: unknown[] = [];
    const queries: unknown[] = [];
    const stops = [
      firestore.doc("a/a").onSnapshot((snapshot: DocumentSnapshot) => documents.push(snapshot.data())),
      firestore.collection("a").onSnapshot((snapshot: QuerySnapshot) => queries.push(snapshot.size)),
    ];
    await expect.poll(() => [documents, queries]).toEqual([[{ n: 1 }], [1]]);

    await first.stop();
    await using second = await startFirestoreServer({ port: first.port });
    // It has forgotten the document, and the client takes its word for it.
    await expect
      .poll(() => [documents, queries], { timeout: 10_000 })
      .toEqual([
        [{ n: 1 }, undefined],
        [1, 0],
      ]);
    await temporaryClient(second.url).doc("a/a").create({ n: 2 });
    await expect.poll(() => [documents.at(-1), queries.at(-1)]).toEqual([{ n: 2 }, 1]);
    // While it is still there: the client would try in vain to reach it, and report that to nobody.
    for (const stop of stops) stop();
  });

  test("says why it cannot listen", async () => {
    const occupant = createServer().listen(0, "127.0.0.1");
    await once(occupant, "listening");
    onTestFinished(() => void occupant.close());
    const { port } = occupant.address() as AddressInfo;
    // gRPC logs it too.
    vi.spyOn(console, "error").mockReturnValueOnce();
    await expect(startFirestoreServer({ port })).rejects.toThrow(/EADDRINUSE/u);
  });
});

describe("its databases", () => {
  test("are the one called (default), in any project", async () => {
    await using server = await startFirestoreServer();
    const other = temporaryClient(server.url, { databaseId: "other" });
    await expect(codeOf(other.doc("a/a").get())).resolves.toBe(NOT_FOUND);
    await expect(codeOf(other.doc("a/a").create({}))).resolves.toBe(NOT_FOUND);
    await expect(codeOf(other.collection("a").get())).resolves.toBe(NOT_FOUND);
    await expect(codeOf(other.runTransaction((transaction) => transaction.get(other.doc("a/a"))))).resolves.toBe(NOT_FOUND);
    using client = new RawClient(server.url);
    const listened = client.listen({ database: "projects/demo-x/databases/other", removeTarget: 1 });
    await expect(codeOf(listened)).resolves.toBe(NOT_FOUND);
    await expect(codeOf(temporaryClient(server.url, { projectId: "another" }).doc("a/a").create({}))).resolves.toBe(OK);
  });

  test("or those that are named, each with documents of its own", async () => {
    await using server = await startFirestoreServer({ databases: ["one", "two"] });
    const [one, two, none] = ["one", "two", "(default)"].map((databaseId) => temporaryClient(server.url, { databaseId }));
    await one!.doc("a/a").create({});
    expect((await one!.doc("a/a").get()).exists).toBe(true);
    expect((await two!.doc("a/a").get()).exists).toBe(false);
    await expect(codeOf(none!.doc("a/a").get())).resolves.toBe(NOT_FOUND);
  });

  test("hold what is named as theirs", async () => {
    await using server = await startFirestoreServer({ databases: ["(default)", "other"] });
    using client = new RawClient(server.url);
    const names = [client.name("a"), client.name("a//b"), "projects/demo-x/databases/other/documents/a/a", ""];
    for (const name of names) {
      await expect(codeOf(client.call("Commit", { writes: [{ delete: name }] }))).resolves.toBe(INVALID_ARGUMENT);
      await expect(codeOf(client.stream("BatchGetDocuments", { documents: [name] }))).resolves.toBe(INVALID_ARGUMENT);
    }
    await expect(codeOf(client.call("Commit", { database: "default" }))).resolves.toBe(INVALID_ARGUMENT);
  });
});

describe("its clock", () => {
  test("is the one that it was given, and never goes back", async () => {
    let nowMs = Date.UTC(2030, 0, 1);
    await using server = await startFirestoreServer({ now: () => nowMs });
    const document = temporaryClient(server.url).doc("a/a");
    const { writeTime: first } = await document.set({ n: 1 });
    expect(first.toMillis()).toBe(nowMs);
    nowMs += 3_600_000;
    const { writeTime: second } = await document.set({ n: 2 });
    expect(second.toMillis()).toBe(nowMs);
    nowMs -= 7_200_000;
    const { writeTime: third } = await document.set({ n: 3 });
    expect(third > second).toBe(true);
    expect(third.toMillis()).toBe(second.toMillis());
  });

  test("is Date, whatever that is at the moment", async () => {
    await using server = await startFirestoreServer();
    // Google's client reckons its own time limits by it.
    using client = new RawClient(server.url);
    const { now } = Date;
    onTestFinished(() => {
      Date.now = now;
    });
    Date.now = () => now() + 3_600_000;
    const { commitTime } = await client.call("Commit", {});
    const { seconds } = commitTime as { readonly seconds: string };
    expect(Math.abs(Number(seconds) * 1_000 - now() - 3_600_000)).toBeLessThan(10_000);
  });
});

test("writes that verify check a document, and leave it as it is", async () => {
  await using server = await startFirestoreServer();
  using client = new RawClient(server.url);
  const verified = async (path: string, currentDocument?: object): Promise<unknown> => {
    const writes = [{ update: { name: client.name("a/written"), fields: {} } }, { verify: client.name(path), currentDocument }];
    return await codeOf(client.call("Commit", { writes }));
  };
  await temporaryClient(server.url).doc("a/a").create({});
  const { updateTime } = await temporaryClient(server.url).doc("a/a").get();
  await expect(verified("a/none", { exists: true })).resolves.toBe(NOT_FOUND);
  await expect(verified("a/a", { exists: false })).resolves.toBe(ALREADY_EXISTS);
  await expect(verified("a/a", { updateTime: { seconds: 1, nanos: 0 } })).resolves.toBe(FAILED_PRECONDITION);
  await expect(verified("a/a")).resolves.toBe(INVALID_ARGUMENT);
  expect((await temporaryClient(server.url).doc("a/written").get()).exists).toBe(false);
  const { seconds, nanoseconds: nanos } = updateTime!;
  await expect(verified("a/a", { updateTime: { seconds, nanos } })).resolves.toBe(OK);
  expect((await temporaryClient(server.url).doc("a/written").get()).exists).toBe(true);
});

test("what the server does not know is UNIMPLEMENTED, and never answered wrongly", async () => {
  await using server = await startFirestoreServer();
  const firestore = temporaryClient(server.url);
  const collection = firestore.collection("a");
  await collection.doc("a").create({ n: 1 });
  const { updateTime } = await collection.doc("a").get();
  const readTime = updateTime!;
  const requests = [
    () => collection.where("n", ">", 0).get(),
    () => collection.where("n", "in", [1]).get(),
    () => collection.orderBy("n").get(),
    () => collection.orderBy("__name__").startAfter("a").get(),
    () => firestore.collectionGroup("a").get(),
    () => collection.count().get(),
    () => firestore.listCollections(),
    () => firestore.runTransaction((transaction) => transaction.get(collection.doc("a")), { readOnly: true, readTime }),
  ];
  for (const request of requests) await expect(codeOf(request())).resolves.toBe(UNIMPLEMENTED);
  const failed = Promise.withResolvers<unknown>();
  onTestFinished(collection.where("n", ">", 0).onSnapshot(() => {}, failed.resolve));
  await expect(failed.promise).resolves.toMatchObject({ message: expect.stringContaining("does not implement") });
  using client = new RawClient(server.url);
  await expect(codeOf(client.call("GetDocument", { name: client.name("a/a") }))).resolves.toBe(UNIMPLEMENTED);
});
