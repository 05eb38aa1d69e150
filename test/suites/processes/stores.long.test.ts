/** Real processes and real signals on one store of each kind, where its service is installed. */
import { processesOn } from "./on-store.ts";

/**
 * Records behind a network, leases of the service's own, records of a majority, and processes that vote. Records in this machine's files are in sqlite.test.ts; Azure, whose
 * shortest lease is long, waits beside others in processes.long.test.ts. What is another store's own, conformance shows with electors,
 * and the demo and chaos with processes that are killed and frozen.
 */
await processesOn("postgres");
await processesOn("etcd");
await processesOn("quorum");
await processesOn("voting");
