import { reportDifferences } from "@leasehold/test-kit/terrain";
import { azurerm } from "./azurerm-facts.ts";

// Azapi has no bindings on npm.
reportDifferences(azurerm);
