import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { describeDynamoDb } from "./describe-conformance.ts";

// `simulated-conformance.test.ts` runs every case in virtual time, and `conformance-on-dynalite.long.test.ts` on dynalite.
describeDynamoDb("dynamodb (dynalite)", () => startDynalite(), { transacts: false, onlyEachKindOfRequest: true });
