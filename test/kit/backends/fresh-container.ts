import { randomUUID } from "node:crypto";
import { BlobServiceClient } from "@azure/storage-blob";
import type { BlockBlobClient, ContainerClient } from "@azure/storage-blob";
import { azuriteConnectionString } from "./azurite.ts";

/**
 * Returns the client of a container with a unique name at `baseUrl`, an Azurite or a proxy in front of one. It never retries: a
 * test that counts requests, or causes failures, must see each of them. The container does not exist yet.
 */
export function containerClient(baseUrl: string, name: string = `c-${randomUUID()}`): ContainerClient {
  const service = BlobServiceClient.fromConnectionString(azuriteConnectionString(baseUrl), {
    retryOptions: { maxTries: 1 },
  });
  return service.getContainerClient(name);
}

/** Returns an empty blob in a new container, for a test that needs nothing else. */
export async function freshBlob(baseUrl: string): Promise<BlockBlobClient> {
  const container = containerClient(baseUrl);
  await container.create();
  const blob = container.getBlockBlobClient("blob");
  await blob.upload("", 0);
  return blob;
}
