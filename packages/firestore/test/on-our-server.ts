import { afterAll, beforeAll } from "vitest";
import { startFirestore, type FirestoreProcess } from "@leasehold/test-kit/backends/firestore";
import { MovedTime } from "@leasehold/test-kit/conformance/moved-time";
import { runConformance, SOME_ROUNDS, type RunOptions } from "@leasehold/test-kit/conformance/run-conformance";
import { FIRESTORE_FACTS, FirestorePlace } from "./firestore-place.ts";

/** Registers the suite for the repository's own server, whose time the test moves. */
export function runOnOurServer(name: string, options?: RunOptions): void {
  let server: FirestoreProcess;

  beforeAll(async () => {
    server = await startFirestore();
  });

  afterAll(async () => {
    await server.stop();
  });

  runConformance(
    {
      ...FIRESTORE_FACTS,
      name,
      rounds: SOME_ROUNDS,
      leaseMs: 60_000,
      open: () => Promise.resolve(new FirestorePlace(server.host, new MovedTime(server))),
    },
    options,
  );
}
