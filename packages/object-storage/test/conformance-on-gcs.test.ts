import { runOnObjects } from "./run-on-objects.ts";

runOnObjects("gcs");
