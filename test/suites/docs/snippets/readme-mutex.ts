import type { ContainerClient } from "@azure/storage-blob";
import { BlobDistributedMutex } from "@leasehold/azure-blob";

declare const container: ContainerClient;
declare const stop: AbortController;
declare function billNextCustomer(options: { signal: AbortSignal }): Promise<void>;

const mutex = new BlobDistributedMutex({ container, blobName: "nightly-billing" }, async (signal) => {
  while (!signal.aborted) await billNextCustomer({ signal });
});
await mutex.runTaskWhenMutexAcquired(stop.signal);
