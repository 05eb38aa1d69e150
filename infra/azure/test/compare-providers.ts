import { reportDifferences } from "@leasehold/infra-terrain/testing";
import { azurerm } from "./azurerm-facts.ts";

reportDifferences(azurerm);
