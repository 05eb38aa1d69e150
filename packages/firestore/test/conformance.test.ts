import { SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import { runOnOurServer } from "./on-our-server.ts";

runOnOurServer("firestore (our server)", SOME_ROUNDS);
