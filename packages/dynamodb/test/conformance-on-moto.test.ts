import { motoMissing, startMoto } from "@leasehold/test-kit/backends/moto";
import { describeDynamoDb } from "./describe-conformance.ts";
import { runConformanceUnless } from "@leasehold/test-kit/conformance/run-conformance";

const NAME = "dynamodb (moto)";

// A leadership takes moto 44 ms; dynalite's column has a thousand.
await runConformanceUnless(motoMissing(), NAME, () =>
  describeDynamoDb(NAME, () => startMoto(), { transacts: true, leaderships: 250 }),
);
