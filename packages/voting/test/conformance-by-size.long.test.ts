/** The conformance cases, over the fewest and the most servers. */
import { describeServers } from "./describe-conformance.ts";

for (const servers of [1, 2, 5, 7]) describeServers(servers);
