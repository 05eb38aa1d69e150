import { randomUUID } from "node:crypto";
import { Firestore, Timestamp } from "@google-cloud/firestore";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startFirestore } from "../backends/firestore.ts";
import type { FirestoreProcess } from "../backends/firestore.ts";
import { officialFirestoreMissing, startOfficialFirestore } from "../backends/official-firestore.ts";
import { processState } from "../processes/process-state.ts";

const HOUR_MS = 3_600_000;

let server: FirestoreProcess;

beforeAll(async () => {
  // Else the client looks for a metadata server first.
  process.env["METADATA_SERVER_DETECTION"] = "none";
  server = await startFirestore();
});

afterAll(async () => {
  await server.stop();
});

/** A document of its own in the server at `host`. */
function freshDocument(host: string): FirebaseFirestore.DocumentReference {
  const firestore = new Firestore({ projectId: "demo-x", host, ssl: false });
  onTestFinished(() => firestore.terminate());
  return firestore.doc(`c/${randomUUID()}`);
}

test("our server dates what is written and read by the clock that its parent moves", async () => {
  const document = freshDocument(server.host);
  const { writeTime } = await document.create({});
  expect(Math.abs(writeTime.toMillis() - Date.now())).toBeLessThan(10_000);
  await server.advance(HOUR_MS);
  const found = await document.get();
  expect(found.updateTime).toEqual(writeTime);
  const agedMs = found.readTime.toMillis() - writeTime.toMillis();
  expect(agedMs).toBeGreaterThanOrEqual(HOUR_MS);
  expect(agedMs).toBeLessThan(HOUR_MS + 10_000);
});

test("our server answers nobody while it is paused, and then everybody", async () => {
  const document = freshDocument(server.host);
  await document.create({});
  await server.pause();
  let answered = false;
  const read = document.get().then(() => (answered = true));
  await expect(processState(server.pid)).resolves.toBe("stopped");
  // Long enough for a hundred answers of one that runs.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(answered).toBe(false);
  server.resume();
  await read;
});

test("our server comes back on the same port, empty", async () => {
  await using first = await startFirestore();
  const document = freshDocument(first.host);
  await document.create({});
  await first.stop();
  await expect(processState(first.pid)).resolves.toBe("gone");
  await using second = await startFirestore({ port: Number(first.host.split(":")[1]) });
  expect(second.host).toBe(first.host);
  expect((await document.get()).exists).toBe(false);
});

test("the official emulator serves where it is installed, and is gone when stop resolves", async () => {
  if ((await officialFirestoreMissing()) !== undefined) return;
  const official = await startOfficialFirestore();
  const { writeTime } = await freshDocument(official.host).create({});
  expect(writeTime).toBeInstanceOf(Timestamp);
  await official.stop();
  await expect(processState(official.pid)).resolves.toBe("gone");
});
