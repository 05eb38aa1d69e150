/** Real processes and real signals, on processes that vote. The two servers beside each candidate are in this test's own process. */
import { processesOn } from "./on-store.ts";

await processesOn("voting");
