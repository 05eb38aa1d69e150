import { FencedError, TermRegressedError, UnsupportedError } from "@leasehold/core";
import type { Fence, Fenced } from "@leasehold/core/provider";
import { numberOf, textOf, type Row } from "./schema.ts";

/** @throws {FencedError} unless the fence that was found is this leadership's. */
export function checkFence({ election, term, termId }: Fenced, found: Row | undefined): void {
  if (found && numberOf(found["term"]) === term && textOf(found["term_id"]) === termId) return;
  const currentTerm = found && (numberOf(found["term"]) ?? undefined);
  throw new FencedError(election, term, currentTerm, "the tables of this transaction");
}

/**
 * Finds out why a write of lease and fence changed nothing. Mostly somebody has written since. But the fence may be ahead,
 * since the leases were lost or restored, or are not those that it was made with: then nobody may lead.
 *
 * @param found the `version` of the lease row, and the `fence_term` beside it.
 * @returns true if the fence's row is missing, and has to be made again.
 * @throws {TermRegressedError} if the fence is of this term already, or of a later one.
 */
export function fenceIsMissing(election: string, fence: Fence, ifVersion: string, found: Row | undefined): boolean {
  if (!found || textOf(found["version"]) !== ifVersion) return false;
  const fenceTerm = numberOf(found["fence_term"]);
  if (fenceTerm === null) return true;
  if (fenceTerm >= fence.term) throw new TermRegressedError(election, fence.term, fenceTerm);
  return false;
}

/** Returns the error of a fence outside a transaction: a lock that ends with the statement guards nothing. */
export function notInTransaction(election: string, table: string): UnsupportedError {
  return new UnsupportedError(
    `fence() was called outside a transaction: its lock on ${table} would be gone before your write. Begin a transaction on that connection first.`,
    { election },
  );
}
