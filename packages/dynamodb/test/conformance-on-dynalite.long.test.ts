import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { describeDynamoDb } from "./describe-conformance.ts";

describeDynamoDb("dynamodb (dynalite)", () => startDynalite(), { transacts: false });
