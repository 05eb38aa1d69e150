import type { Clock } from "@leasehold/core";
import type { Cluster } from "./cluster.ts";
import type { Holdings } from "./holding.ts";
import type { ElectionKeys } from "./keys.ts";
import type { ElectionReader } from "./reader.ts";
import type { EtcdRequests } from "./requests.ts";

/** All that one store knows and works with, as its operations share it. */
export interface StoreParts {
  readonly clock: Clock;
  readonly cluster: Cluster;
  readonly requests: EtcdRequests;
  readonly reader: ElectionReader;
  readonly holdings: Holdings;
  /** @throws {ConfigurationError} for an election that has no place here. */
  readonly keysOf: (election: string) => ElectionKeys;
}
