import { describeOnAzurite } from "./describe-conformance.ts";

// `simulated-conformance.test.ts` runs every case in virtual time, and `conformance.long.test.ts` on Azurite.
describeOnAzurite({ onlyEachKindOfRequest: true });
