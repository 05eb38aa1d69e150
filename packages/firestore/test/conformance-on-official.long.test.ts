import { afterAll, beforeAll, describe, test } from "vitest";
import {
  officialFirestoreMissing,
  startOfficialFirestore,
  type OfficialFirestore,
} from "@leasehold/test-kit/backends/official-firestore";
import { realTime } from "@leasehold/test-kit/conformance/real-time";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";
import { FIRESTORE_FACTS, FirestorePlace } from "./firestore-place.ts";

const missing = await officialFirestoreMissing();
if (missing !== undefined) {
  standIn(missing);
} else {
  let official: OfficialFirestore;

  beforeAll(async () => {
    official = await startOfficialFirestore();
    // The emulator's first answers take a second or two, which must not count in a case.
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
      // A stall of some seconds ends no term.
      leaseMs: 60_000,
      skips: { "leading-outage": "it would last for minutes of real time; our own server's time is moved" },
      open: () => Promise.resolve(new FirestorePlace(official.host, realTime)),
    },
    // The repository's own server runs every case.
    { concurrently: true, onlyEachKindOfRequest: true },
  );
}

/** The official emulator is optional, and a file without a single test is an error. */
function standIn(reason: string): void {
  describe(`firestore (official): ${reason}`, () => {
    test("every case runs on the repository's own server, in conformance.long.test.ts", () => {});
  });
}
