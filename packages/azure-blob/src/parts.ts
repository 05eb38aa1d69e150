import type { Clock, ServiceClock } from "@leasehold/core/provider";
import type { ClockProbes } from "./clock-probes.ts";
import type { Holdings } from "./holding.ts";
import type { Orphans } from "./orphans.ts";
import type { BlobReader } from "./reader.ts";
import type { BlobRequests } from "./requests.ts";

/** The state and the helpers of one store, which its operations share. */
export interface StoreParts {
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly requests: BlobRequests;
  readonly reader: BlobReader;
  readonly holdings: Holdings;
  readonly orphans: Orphans;
  readonly probes: ClockProbes;
}
