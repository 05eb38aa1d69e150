import { reportDifferences } from "@leasehold/test-kit/terrain";
import { googleWithBuckets } from "./google-facts.ts";

reportDifferences(googleWithBuckets);
