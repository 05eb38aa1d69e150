import type { BlobClient } from "@azure/storage-blob";
import type { BlobLeaseStore } from "@leasehold/azure-blob";
import type { Elector } from "@leasehold/core";

declare const elector: Elector;
declare const store: BlobLeaseStore;
declare const report: BlobClient;
declare function nextReport(signal: AbortSignal): Promise<string>;

export async function fenced(): Promise<void> {
  await elector.run(async (leadership) => {
    // From here on the service refuses the terms before this one.
    await store.seal(leadership, report, { signal: leadership.signal });
    while (!leadership.signal.aborted) {
      await store.fencedUpload(leadership, report, await nextReport(leadership.signal));
    }
  });
}
