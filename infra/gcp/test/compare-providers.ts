import { compareWithBindings } from "@leasehold/infra-terrain/testing";
import { google } from "./google-facts.ts";

// On demand: it installs 300 MB from the npm registry.
const { differences, compared } = compareWithBindings(google);
for (const difference of differences) console.error(difference);
console.log(
  `${google.source} ${google.version}: ${compared} facts compared with ${google.bindings}, ${differences.length} differ`,
);
if (differences.length > 0) process.exitCode = 1;
