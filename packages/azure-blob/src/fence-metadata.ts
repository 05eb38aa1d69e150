import type { BlobClient } from "@azure/storage-blob";
import { ConfigurationError, FencedError, type Leadership } from "@leasehold/core";
import { ForeignRecordError } from "@leasehold/core/provider";
import { wholeNumber, type Metadata } from "./schema.ts";

const FENCE_PREFIX = "leasehold_fence_";
const KEY = {
  election: `${FENCE_PREFIX}election`,
  term: `${FENCE_PREFIX}term`,
  termId: `${FENCE_PREFIX}termid`,
};

/** The metadata key for the id of the blob's last fenced write. */
export const WRITE_KEY: string = `${FENCE_PREFIX}write`;

export function fenceOf({ election, term, termId }: Leadership): Record<string, string> {
  return { [KEY.election]: encodeURIComponent(election), [KEY.term]: String(term), [KEY.termId]: termId };
}

/** @throws {FencedError} if the blob belongs to a newer term, or to another holder of this term. */
export function checkFence(leadership: Leadership, blob: BlobClient, metadata: Metadata, unanswered: unknown): void {
  const { election, term, termId } = leadership;
  const fence = [metadata[KEY.election], metadata[KEY.term], metadata[KEY.termId]];
  if (fence.every((field) => field === undefined)) return;
  const place = `the blob '${blob.name}'`;
  const currentTerm = wholeNumber(metadata[KEY.term]);
  const fencedBy = decoded(metadata[KEY.election]);
  if (currentTerm === undefined || fencedBy === undefined || !metadata[KEY.termId]) {
    throw new ForeignRecordError(election, place, "its metadata has a fence that cannot be read");
  }
  if (fencedBy !== election) {
    throw new ConfigurationError(
      `${place} is guarded by the election '${fencedBy}', not by '${election}': terms of two elections cannot be compared.`,
      { election },
    );
  }
  if (currentTerm > term || (currentTerm === term && metadata[KEY.termId] !== termId)) {
    throw new FencedError(election, term, currentTerm, place, unanswered);
  }
}

/**
 * Returns the metadata without any fence. Metadata keys are case-insensitive, so a fence in capitals would replace the new one.
 */
export function withoutFence(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !key.toLowerCase().startsWith(FENCE_PREFIX)));
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
