import { instantOf } from "@leasehold/core/provider";
import { conditionFailed, failureOf } from "./azure-blob-errors.ts";
import type { HeldBlobLease } from "./holding.ts";
import type { StoreParts } from "./parts.ts";
import type { CallLimits, VersionedMetadata } from "./requests.ts";
import { encodeTerm, type TermMetadata } from "./schema.ts";

/**
 * Changes the metadata of a term that is held, after all earlier writes. If an earlier write's reply was lost, the ETag is out of
 * date, and one read finds the present one.
 */
export async function rewriteTerm(
  { clock, requests, reader }: StoreParts,
  operation: "publish" | "leave",
  holding: HeldBlobLease,
  changes: Partial<TermMetadata>,
  limits: CallLimits,
): Promise<void> {
  const { leaseId } = holding;
  const { election } = holding.lease;
  const rewrite = async (): Promise<void> => {
    const term = { ...holding.term, ...changes };
    const write = async ({ etag, metadata }: VersionedMetadata): Promise<string> =>
      await requests.setMetadata(operation, election, leaseId, etag, encodeTerm(term, metadata), limits);
    try {
      holding.etag = await write({ etag: holding.etag, metadata: holding.others });
    } catch (error) {
      if (!conditionFailed(failureOf(error))) throw error;
      const found = await reader.read(election, limits);
      if (!found) throw error;
      // The service decides whether the term is still held, because the write carries the lease id.
      holding.etag = await write(found);
    }
    holding.term = term;
    holding.writtenAt = instantOf(clock);
  };
  const rewritten = holding.writes.then(rewrite);
  holding.writes = rewritten.catch(() => undefined);
  await rewritten;
}
