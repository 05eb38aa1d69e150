import { reportDifferences } from "@leasehold/test-kit/terrain";
import { google } from "./google-facts.ts";

reportDifferences(google);
