import { compareWithBindings } from "@leasehold/infra-terrain/testing";
import { azurerm } from "./azurerm-facts.ts";

// On demand: it installs 300 MB from the npm registry.
const { differences, compared } = compareWithBindings(azurerm);
for (const difference of differences) console.error(difference);
console.log(
  `${azurerm.source} ${azurerm.version}: ${compared} facts compared with ${azurerm.bindings}, ${differences.length} differ`,
);
if (differences.length > 0) process.exitCode = 1;
