import type { StoreUnderTest } from "@leasehold/conformance";
import { RecordPlace, type RecordServiceOptions } from "./record-place.ts";

/** Returns the subject of a record service in this process. */
export function recordSubject(name: string, options: RecordServiceOptions): StoreUnderTest {
  return {
    name,
    leaseMs: 15_000,
    requests: { acquire: 1, renew: 1, release: 1, look: 1 },
    lacks: {
      ...(options.pushes ? {} : { watch: "it does not push" }),
      ...(options.storeClock ? {} : { "store-clock": "it tells no time", reservation: "it tells no time" }),
    },
    open: () => Promise.resolve(new RecordPlace(options)),
  };
}
