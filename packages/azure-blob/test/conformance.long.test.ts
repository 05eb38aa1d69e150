import { describeOnAzurite } from "./describe-conformance.ts";

describeOnAzurite();
