import { testApp } from "@leasehold/test-kit/terrain/app-test";
import { Testing } from "cdktn";
import { LeaseholdStack } from "../bin/leasehold-stack.ts";
import { azapi } from "./azapi-facts.ts";
import { azurerm } from "./azurerm-facts.ts";

testApp(new LeaseholdStack(Testing.app(), "leasehold"), azurerm, azapi);
