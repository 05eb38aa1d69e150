import { testApp } from "@leasehold/test-kit/terrain/app-test";
import { Testing } from "cdktn";
import { LeaseholdStack } from "../bin/leasehold-stack.ts";
import { google } from "./google-facts.ts";

testApp(new LeaseholdStack(Testing.app(), "leasehold"), google);
