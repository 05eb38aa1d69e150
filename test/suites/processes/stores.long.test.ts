/** Real processes and real signals on one store of each kind, if its service is installed. */
import { processesOn } from "./on-store.ts";

/**
 * The kinds are records behind a network, leases of the service's own, and records of a majority. Records in this machine's files
 * are in sqlite.test.ts, and processes that vote in voting.long.test.ts. Conformance tests the other stores with electors. The demo
 * and chaos kill, freeze, block and cut off processes on every store.
 */
await processesOn("azure");
await processesOn("postgres");
await processesOn("etcd");
await processesOn("quorum");
