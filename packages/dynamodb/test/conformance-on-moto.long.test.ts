import { motoMissing, startMoto } from "@leasehold/test-kit/backends/moto";
import { describeDynamoDb } from "./describe-conformance.ts";
import { runConformanceUnless } from "@leasehold/test-kit/conformance/run-conformance";

const NAME = "dynamodb (moto)";

// Moto takes ten times as long as dynalite, which runs every case.
await runConformanceUnless(motoMissing(), NAME, () =>
  describeDynamoDb(NAME, () => startMoto(), { transacts: true, onlyEachKindOfRequest: true }),
);
