import { afterAll, beforeAll } from "vitest";
import {
  officialFirestoreMissing,
  startOfficialFirestore,
  type OfficialFirestore,
} from "@leasehold/test-kit/backends/official-firestore";
import { LONG_OUTAGE_MS, realTime } from "@leasehold/test-kit/conformance/real-time";
import { runConformance, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";
import { FIRESTORE_FACTS, FirestorePlace } from "./firestore-place.ts";
import { runOnOurServer } from "./on-our-server.ts";

// Nothing has to have the official emulator: where it is not installed, our server plays a thousand rounds in its place.
if ((await officialFirestoreMissing()) !== undefined) {
  runOnOurServer("firestore (our server, a thousand rounds)");
} else {
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
      ...FIRESTORE_FACTS,
      name: "firestore (official)",
      leaseMs: 5_000,
      rounds: SOME_ROUNDS,
      outageMs: LONG_OUTAGE_MS,
      open: () => Promise.resolve(new FirestorePlace(official.host, realTime)),
    },
    { concurrently: true },
  );
}
