import { testApp } from "@leasehold/infra-terrain/testing/app";
import { Testing } from "cdktn";
import { LeaseholdStack } from "../bin/leasehold-stack.ts";
import { google } from "./google-facts.ts";

testApp(new LeaseholdStack(Testing.app(), "leasehold"), google, "6.50");
