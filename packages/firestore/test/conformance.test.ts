import { afterAll, beforeAll } from "vitest";
import { startFirestore, type FirestoreProcess } from "@leasehold/test-kit/backends/firestore";
import {
  officialFirestoreMissing,
  startOfficialFirestore,
  type OfficialFirestore,
} from "@leasehold/test-kit/backends/official-firestore";
import { FirestorePlace } from "./firestore-place.ts";
import { MovedTime } from "@leasehold/test-kit/conformance/moved-time";
import { LONG_OUTAGE_MS, realTime } from "@leasehold/test-kit/conformance/real-time";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";

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
