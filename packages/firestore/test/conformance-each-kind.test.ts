import { runOnOurServer } from "./on-our-server.ts";

// `conformance.long.test.ts` runs every case.
runOnOurServer("firestore (our server)", { onlyEachKindOfRequest: true });
