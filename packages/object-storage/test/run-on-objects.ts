import type { StoreUnderTest } from "@leasehold/conformance";
import { runConformance, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import type { Protocol } from "@leasehold/test-kit/object-server/server";
import { afterAll, beforeAll } from "vitest";
import { MovedObjects, ObjectPlace } from "./object-place.ts";

/** The facts of the suite about this store. */
export const ON_OBJECTS = {
  leaseMs: 60_000,
  requests: { acquire: 1, renew: 1, release: 1, look: 1, list: [1, 4] },
  lacks: { watch: "object storage cannot push" },
} satisfies Partial<StoreUnderTest>;

/** Registers the cases that an SDK can change, for one service on the kit's server. */
export function runOnObjects(protocol: Protocol): void {
  let objects: MovedObjects;
  let places = 0;
  beforeAll(async () => {
    objects = await MovedObjects.start(protocol);
  });
  afterAll(async () => {
    await objects[Symbol.asyncDispose]();
  });
  runConformance(
    {
      ...ON_OBJECTS,
      name: `object-storage (${protocol})`,
      rounds: SOME_ROUNDS,
      // An outage of ten minutes would take many thousand requests.
      outageMs: 240_000,
      async open() {
        places += 1;
        return new ObjectPlace(objects, `place-${places}/`);
      },
    },
    { onlyEachKindOfRequest: true },
  );
}
