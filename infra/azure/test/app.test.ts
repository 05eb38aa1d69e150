import { testApp } from "@leasehold/infra-terrain/testing/app";
import { Testing } from "cdktn";
import { LeaseholdStack } from "../bin/leasehold-stack.ts";
import { azurerm } from "./azurerm-facts.ts";

testApp(new LeaseholdStack(Testing.app(), "leasehold"), azurerm, "4.73");
