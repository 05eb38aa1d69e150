import { createRequire } from "node:module";
import { Firestore } from "@google-cloud/firestore";
import { systemClock } from "@leasehold/core/provider";
import { expect } from "vitest";
import { ELECTION, win } from "@leasehold/test-kit/acquisitions";
import { FirestoreRecordStore } from "../src/firestore-record-store.ts";
import { Paths } from "../src/paths.ts";
import { test } from "./world-test.ts";

test("a Firestore of another copy of the SDK, such as firebase-admin's, can read and wakes watches", async ({ world }) => {
  const other = createRequire(import.meta.url)("oldest-google-cloud-firestore") as { readonly Firestore: typeof Firestore };
  expect(other.Firestore).not.toBe(Firestore);
  const firestore = new other.Firestore({ projectId: "demo-x", host: world.host, ssl: false });
  const store = world.store({ firestore });
  await win(store);
  // From now on the time of the nonce is a field of the document.
  world.moveServerClock(1_000);
  await store.break(ELECTION, { reason: "test" });
  const records = new FirestoreRecordStore(firestore, new Paths("leasehold"), { clock: systemClock });
  await expect(records.get(ELECTION, { signal: world.ended })).resolves.toMatchObject({ data: { term: 1 } });
  let wakeUps = 0;
  for await (const _ of records.watch!(ELECTION, { signal: world.ended })) {
    wakeUps += 1;
    break;
  }
  expect(wakeUps).toBe(1);
  await firestore.terminate();
});
