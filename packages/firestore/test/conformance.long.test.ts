import { runOnOurServer } from "./on-our-server.ts";

runOnOurServer("firestore (our server)");
