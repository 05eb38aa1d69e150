import { describeServers } from "./describe-conformance.ts";

describeServers(3);
