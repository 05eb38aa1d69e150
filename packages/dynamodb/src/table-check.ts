import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import { ConfigurationError, isLeaseholdError } from "@leasehold/core";
import type { OneRequest } from "./one-request.ts";

/**
 * Whether a table can hold leases at all: a global table with eventually consistent replicas lets two regions win the
 * same condition. Asked once, before the first write; who may not ask is warned instead.
 */
export class TableCheck {
  readonly #requests: OneRequest;
  readonly #tableName: string;
  #checked = false;
  /** Whether the table is known to be replicated with strong consistency, which excludes transactions. */
  strongReplicas = false;

  constructor(requests: OneRequest, tableName: string) {
    this.#requests = requests;
    this.#tableName = tableName;
  }

  /** @throws {ConfigurationError} if the table cannot hold leases. {StoreError} if it cannot be asked now: then nothing is written. */
  async check(election: string, signal: AbortSignal): Promise<void> {
    if (this.#checked) return;
    const command = new DescribeTableCommand({ TableName: this.#tableName });
    const label = { operation: "describe-table", election, writes: false };
    try {
      const { Table } = await this.#requests.send(command, label, signal);
      const replicas = Table?.Replicas?.map(({ RegionName }) => RegionName ?? "?") ?? [];
      this.strongReplicas = replicas.length > 0 && Table?.MultiRegionConsistency === "STRONG";
      if (replicas.length > 0 && !this.strongReplicas) throw this.#eventual(replicas, election);
      this.#checked = true;
    } catch (error) {
      // Missing, throttled, out of reach, credentials that have expired: it is asked again before the next write.
      if (!isLeaseholdError(error, "STORE_DENIED") || (error.cause as Error).name !== "AccessDeniedException") throw error;
      this.#checked = true;
      process.emitWarning(
        `The table '${this.#tableName}' may be a global table with eventually consistent replicas, in which two candidates can lead at once; dynamodb:DescribeTable is denied, so this could not be checked.`,
        { type: "LeaseholdWarning", code: "LEASEHOLD_TABLE_NOT_CHECKED" },
      );
    }
  }

  #eventual(replicas: readonly string[], election: string): ConfigurationError {
    return new ConfigurationError(
      `The table '${this.#tableName}' has eventually consistent replicas (${replicas.join(", ")}): each region checks conditions on its own copy, so two candidates could lead at once. Use a table in one region, or one with multi-region strong consistency.`,
      { election },
    );
  }
}
