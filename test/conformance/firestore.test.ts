import { afterAll, beforeAll } from "vitest";
import { startFirestore, type FirestoreProcess } from "../backends/firestore.ts";
import { officialFirestoreMissing, startOfficialFirestore, type OfficialFirestore } from "../backends/official-firestore.ts";
import { FirestorePlace } from "./firestore-place.ts";
import { MovedTime } from "./moved-time.ts";
import { LONG_OUTAGE_MS, realTime } from "./real-time.ts";
import { runConformance } from "./run-conformance.ts";
import { warmUp } from "./warm-up.ts";

const COMMON = {
  requests: { acquire: 1, renew: 1, release: 1, look: 1 },
  lacks: { duplicates: "requests go over a connection, and TCP delivers nothing twice" },
};

let server: FirestoreProcess;

beforeAll(async () => {
  server = await startFirestore();
});

afterAll(async () => {
  await server.stop();
});

runConformance({
  ...COMMON,
  name: "firestore (our server)",
  leaseMs: 15_000,
  open: () => Promise.resolve(new FirestorePlace(server.host, new MovedTime(server))),
});

// Where it is not installed, there is no column of it: nothing has to have it.
if ((await officialFirestoreMissing()) === undefined) {
  let official: OfficialFirestore;

  beforeAll(async () => {
    official = await startOfficialFirestore();
    // Its first answers take a second or two; no case is to count that.
    await using place = new FirestorePlace(official.host, realTime);
    for (let round = 0; round < 10; round += 1) await warmUp(await place.connect(), `warm-up-${round}`);
  });

  afterAll(async () => {
    await official.stop();
  });

  runConformance(
    {
      ...COMMON,
      name: "firestore (official)",
      leaseMs: 3_000,
      outageMs: LONG_OUTAGE_MS,
      open: () => Promise.resolve(new FirestorePlace(official.host, realTime)),
    },
    { concurrently: true },
  );
}
