/** Real processes and real signals on every other store with a short lease, where its real service is installed. */
import { STORE_NAMES } from "@leasehold/test-kit/stores/stores";
import { processesOn } from "./on-store.ts";

/** SQLite is in sqlite.test.ts; Azure, whose shortest lease is long, waits beside others in processes.long.test.ts. */
for (const name of STORE_NAMES) if (name !== "sqlite" && name !== "azure") await processesOn(name);
