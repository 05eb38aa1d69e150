import { startDynalite } from "../backends/dynalite.ts";
import { describeDynamoDb } from "./describe-dynamodb.ts";

describeDynamoDb("dynamodb (dynalite)", () => startDynalite(), { transacts: false });
