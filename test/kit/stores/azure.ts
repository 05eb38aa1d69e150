import { text } from "node:stream/consumers";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { isLeaseholdError } from "@leasehold/core";
import { startAzurite } from "../backends/azurite.ts";
import { containerClient } from "../backends/fresh-container.ts";
import type { StoreSettings, TestStore } from "./test-store.ts";

/** Azure Blob Storage, on Azurite. */
export const azure: TestStore = {
  title: "Azure Blob Storage",
  // Azure's shortest lease.
  leaseDurationMs: 15_000,

  missing: () => Promise.resolve(undefined),

  async start() {
    const azurite = await startAzurite();
    return {
      settings: azureSettings(azurite.url, "leasehold"),
      place: `Azurite, in memory, ${azurite.url}`,
      pause: () => azurite.pause(),
      resume: () => azurite.resume(),
      [Symbol.asyncDispose]: () => azurite.stop(),
    };
  },

  open({ url = "", containerName = "" }) {
    const container = containerClient(url, containerName);
    const store = new BlobLeaseStore({ container, createContainer: true });
    return Promise.resolve({
      store,
      document: (name) => {
        const blob = container.getBlockBlobClient(`documents/${name}`);
        const read = async (): Promise<string> => {
          // Before the first leader there is no blob, and perhaps no container.
          if (!(await blob.exists())) return "";
          // One request. `downloadToBuffer` asks for the length first, and the content may change before it downloads.
          const { readableStreamBody } = await blob.download();
          return readableStreamBody ? await text(readableStreamBody) : "";
        };
        return {
          read,
          seal: (leadership) => store.seal(leadership, blob),
          // After the seal only this leader can write, and it makes one write at a time.
          update: async (leadership, change) => store.fencedUpload(leadership, blob, change(await read())),
          write: (leadership, content) => store.fencedUpload(leadership, blob, content),
        };
      },
      isRefusal: (error) => isLeaseholdError(error, "FENCED"),
      close: () => Promise.resolve(),
    });
  },
};

/**
 * Returns the settings of a container at `url`, an Azurite or a proxy in front of one. The first candidate creates the container.
 */
export function azureSettings(url: string, containerName: string): StoreSettings {
  return { store: "azure", url, containerName };
}
