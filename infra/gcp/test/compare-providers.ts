import { reportDifferences } from "@leasehold/infra-terrain/testing";
import { google } from "./google-facts.ts";

reportDifferences(google);
