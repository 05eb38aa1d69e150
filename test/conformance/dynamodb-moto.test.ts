import { motoMissing, startMoto } from "../backends/moto.ts";
import { describeDynamoDb } from "./describe-dynamodb.ts";
import { runConformanceUnless } from "./run-conformance.ts";

const NAME = "dynamodb (moto)";

await runConformanceUnless(motoMissing(), NAME, () => describeDynamoDb(NAME, () => startMoto()));
