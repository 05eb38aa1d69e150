import { motoMissing, startMoto } from "../backends/moto.ts";
import { describeDynamoDb } from "./describe-dynamodb.ts";
import { runConformanceUnless } from "./run-conformance.ts";

const NAME = "dynamodb (moto)";

// A leadership takes moto 44 ms; dynalite's column has a thousand.
await runConformanceUnless(motoMissing(), NAME, () =>
  describeDynamoDb(NAME, () => startMoto(), { transacts: true, leaderships: 250 }),
);
