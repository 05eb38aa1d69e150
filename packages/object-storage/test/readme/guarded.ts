import type { Leadership } from "@leasehold/core";
import type { ObjectStorageLeaseStore } from "@leasehold/object-storage";

/** Replaces the report as the leader. Throws a FencedError once a newer leader has sealed or written it. */
export async function writeReport(store: ObjectStorageLeaseStore, leadership: Leadership): Promise<void> {
  await store.seal(leadership, "reports/today.json", { signal: leadership.signal });
  const report = JSON.stringify({ term: leadership.term });
  await store.fencedPut(leadership, "reports/today.json", report, { contentType: "application/json" });
}
