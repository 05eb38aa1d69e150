/** The cases that every store passes, over SQLite, DynamoDB and Firestore. */
import { rm } from "node:fs/promises";
import { afterAll, beforeAll } from "vitest";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { startFirestore } from "@leasehold/test-kit/backends/firestore";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { runConformance, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import { QuorumPlace, type Services } from "./quorum-place.ts";

// Otherwise the client searches for a metadata server before its first request.
process.env["METADATA_SERVER_DETECTION"] = "none";

const MEMBERS = 3;

let services: Services & AsyncDisposable;

beforeAll(async () => {
  const [folder, dynalite, firestore] = await Promise.all([
    memoryFolder("conformance-quorum-"),
    startDynalite(),
    startFirestore(),
  ]);
  services = {
    folder,
    dynamodbUrl: dynalite.url,
    firestoreHost: firestore.host,
    advance: async (ms) => void (await Promise.all([dynalite.advance(ms), firestore.advance(ms)])),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([dynalite.stop(), firestore.stop()]);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
});
afterAll(() => services[Symbol.asyncDispose]());

runConformance({
  name: "quorum (SQLite, dynalite, Firestore)",
  // A call gets a third of the lease, and a member's request a quarter of that. On a busy machine one of fifty at once has to
  // succeed.
  leaseMs: 90_000,
  rounds: SOME_ROUNDS,
  // The store's own request, and those to each member: a read, a prepare and an accept, or one of them.
  requests: {
    acquire: 1 + 3 * MEMBERS,
    renew: 1 + MEMBERS,
    release: 1 + MEMBERS,
    look: 1 + MEMBERS,
    list: [1 + MEMBERS, 4 * (1 + MEMBERS)],
  },
  lacks: {
    fence: "a member's fence says nothing of a leader whom the others have elected",
    removal: "a record that one member lacks is not gone; the tests of the record have it",
    watch: "members are looked at",
  },
  open: () => QuorumPlace.open(services),
});
