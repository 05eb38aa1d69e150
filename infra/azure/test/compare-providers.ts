import { reportDifferences } from "@leasehold/test-kit/terrain";
import { azurerm } from "./azurerm-facts.ts";

// npm has no bindings of azapi.
reportDifferences(azurerm);
