import type { ProviderResource } from "./terraform.ts";

/** A metric of Azure Monitor, by the names that an alert rule or a chart takes. */
export interface StorageMetric {
  /** The resource of the metric, for the `scopes` of an alert rule. */
  readonly resourceId: string;
  readonly namespace: string;
  readonly name: string;
  readonly aggregation: "Average" | "Total";
}

/** https://learn.microsoft.com/azure/storage/blobs/monitor-blob-storage-reference#metrics */
export function storageMetric(account: ProviderResource, name: string, aggregation: StorageMetric["aggregation"]): StorageMetric {
  return {
    resourceId: `${account.id}/blobServices/default`,
    namespace: "Microsoft.Storage/storageAccounts/blobServices",
    name,
    aggregation,
  };
}
