/** Real processes and real signals on one store of each kind, if its service is installed. */
import { processesOn } from "./on-store.ts";

/**
 * The kinds are records behind a network, leases of the service's own, records of a majority, and processes that vote. Records in
 * this machine's files are in sqlite.test.ts, and Azure is in processes.long.test.ts. Conformance tests the other stores with
 * electors. The demo and chaos test them with processes that are killed and frozen.
 */
await processesOn("postgres");
await processesOn("etcd");
await processesOn("quorum");
await processesOn("voting");
