import { afterAll, beforeAll } from "vitest";
import { startFirestore, type FirestoreProcess } from "@leasehold/test-kit/backends/firestore";
import { FIRESTORE_FACTS, FirestorePlace } from "./firestore-place.ts";
import { MovedTime } from "@leasehold/test-kit/conformance/moved-time";
import { runConformance, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";

let server: FirestoreProcess;

beforeAll(async () => {
  server = await startFirestore();
});

afterAll(async () => {
  await server.stop();
});

runConformance({
  ...FIRESTORE_FACTS,
  rounds: SOME_ROUNDS,
  name: "firestore (our server)",
  leaseMs: 15_000,
  open: () => Promise.resolve(new FirestorePlace(server.host, new MovedTime(server))),
});
