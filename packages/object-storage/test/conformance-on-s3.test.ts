import { runOnObjects } from "./run-on-objects.ts";

runOnObjects("s3");
