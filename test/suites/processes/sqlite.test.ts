/** Real processes and real signals, on the embedded default. */
import { processesOn } from "./on-store.ts";

await processesOn("sqlite");
