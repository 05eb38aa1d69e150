import type { Firestore } from "@google-cloud/firestore";
import { startFirestoreServer, type FirestoreServer, type Intercept } from "../../firestore-server/index.ts";
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from "vitest";
import { RawClient } from "./raw-client.ts";
import { clientOf, codeOf } from "./servers.ts";

const ALREADY_EXISTS = 6;
const PERMISSION_DENIED = 7;
const ABORTED = 10;
const UNAVAILABLE = 14;
const CANCELLED = 1;

let intercept: Intercept | undefined;
let server: FirestoreServer;
let firestore: Firestore;

beforeAll(async () => {
  server = await startFirestoreServer({ intercept: async (call) => await intercept?.(call) });
  firestore = clientOf(server.url);
});

afterEach(() => {
  intercept = undefined;
});

afterAll(async () => {
  await firestore.terminate();
  await server.stop();
});

test("sees every request before it is carried out", async () => {
  const methods: string[] = [];
  intercept = async ({ method, request }) => {
    methods.push(method);
    expect(request).toMatchObject({ database: "projects/demo-x/databases/(default)" });
  };
  await firestore.doc("seen/a").create({});
  await firestore.doc("seen/a").get();
  onTestFinished(firestore.doc("seen/a").onSnapshot(() => {}));
  await expect.poll(() => methods).toEqual(["Commit", "BatchGetDocuments", "Listen"]);
});

test("makes a request fail before it is carried out", async () => {
  intercept = async ({ method }) => (method === "Commit" ? { code: PERMISSION_DENIED, message: "as asked" } : undefined);
  const created = firestore.doc("before/a").create({});
  await expect(created).rejects.toMatchObject({ code: PERMISSION_DENIED, message: expect.stringContaining("as asked") });
  expect((await firestore.doc("before/a").get()).exists).toBe(false);
});

test("makes a request fail after it was carried out", async () => {
  intercept = async ({ method }) =>
    method === "Commit" ? { code: PERMISSION_DENIED, message: "as asked", afterCommit: true } : undefined;
  await expect(codeOf(firestore.doc("after/a").create({}))).resolves.toBe(PERMISSION_DENIED);
  expect((await firestore.doc("after/a").get()).exists).toBe(true);
});

test("makes one request fail, which the client then sends again", async () => {
  const faults = [{ code: ABORTED, message: "as asked", afterCommit: true }];
  intercept = async ({ method }) => (method === "Commit" ? faults.pop() : undefined);
  await expect(codeOf(firestore.doc("again/a").create({}))).resolves.toBe(ALREADY_EXISTS);
});

test("leaves a request unanswered, as long as it likes", async () => {
  const release = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  intercept = async ({ method }) => {
    if (method !== "Commit") return;
    arrived.resolve();
    await release.promise;
  };
  let answered = false;
  const created = firestore
    .doc("late/a")
    .create({})
    .then(() => (answered = true));
  await arrived.promise;
  expect((await firestore.doc("late/a").get()).exists).toBe(false);
  expect(answered).toBe(false);
  release.resolve();
  await created;
  expect((await firestore.doc("late/a").get()).exists).toBe(true);
});

test("makes reads fail", async () => {
  intercept = async () => ({ code: PERMISSION_DENIED, message: "as asked" });
  await expect(codeOf(firestore.doc("reads/a").get())).resolves.toBe(PERMISSION_DENIED);
  await expect(codeOf(firestore.collection("reads").get())).resolves.toBe(PERMISSION_DENIED);
});

test("makes a listener fail, which the client then opens again", async () => {
  const faults = [{ code: UNAVAILABLE, message: "as asked" }];
  intercept = async () => faults.pop();
  const seen = Promise.withResolvers<boolean>();
  onTestFinished(firestore.doc("listeners/a").onSnapshot(({ exists }) => seen.resolve(exists)));
  await expect(seen.promise).resolves.toBe(false);
  expect(faults).toEqual([]);
});

test("does not keep the server from stopping", async () => {
  const arrived = Promise.withResolvers<void>();
  const stopping = await startFirestoreServer({
    intercept: async () => {
      arrived.resolve();
      await new Promise(() => {});
    },
  });
  using client = new RawClient(stopping.url);
  const committed = codeOf(client.call("Commit", {}));
  await arrived.promise;
  await stopping.stop();
  await expect(committed).resolves.toBe(CANCELLED);
});
