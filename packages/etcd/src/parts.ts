import type { Clock } from "@leasehold/core/provider";
import type { Cluster } from "./cluster.ts";
import type { Holdings } from "./holding.ts";
import type { ElectionKeys } from "./keys.ts";
import type { ElectionReader } from "./reader.ts";
import type { EtcdRequests } from "./requests.ts";

/** The parts of one store that its operations share. */
export interface StoreParts {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly requests: EtcdRequests;
  readonly reader: ElectionReader;
  readonly holdings: Holdings;
  /** @throws {ConfigurationError} for an election whose keys would lie among the store's own. */
  readonly keysOf: (election: string) => ElectionKeys;
}
