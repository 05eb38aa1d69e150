import type { ContainerClient, ContainerListBlobHierarchySegmentResponse } from "@azure/storage-blob";

/** The part of a list that one request gets: at most `pageSize` blobs, after those of earlier pages. */
export interface ListPage {
  readonly pageSize: number;
  readonly from: string | undefined;
}

/** Reads one page of the blobs that begin with a prefix, with their metadata. Blobs in folders below the prefix are left out. */
export async function blobPage(
  container: ContainerClient,
  { prefix, pageSize, from }: ListPage & { readonly prefix: string },
  abortSignal: AbortSignal,
): Promise<ContainerListBlobHierarchySegmentResponse> {
  const page = { maxPageSize: pageSize, ...(from === undefined ? {} : { continuationToken: from }) };
  const pages = container.listBlobsByHierarchy("/", { prefix, includeMetadata: true, abortSignal }).byPage(page);
  return (await pages.next()).value as ContainerListBlobHierarchySegmentResponse;
}

/** Returns the token of the page after this one; `undefined` after the last, which has an empty token. */
export function nextPage({ continuationToken: next }: ContainerListBlobHierarchySegmentResponse): string | undefined {
  return next === "" ? undefined : next;
}
