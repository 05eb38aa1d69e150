import { FencedError, UnsupportedError } from "@leasehold/core";
import { TermRegressedError, QUORUM_SCHEMA, type Fence, type Fenced, type LeaseRecord } from "@leasehold/core/provider";
import { numberOf, textOf, type Row } from "./schema.ts";

const ABOVE_ALL_TERMS = Number.MAX_SAFE_INTEGER + 1;
/** Names the tables in the error of a fence whose term is below that of the leadership. */
const BEHIND =
  "the tables of this transaction, which are of another database than the lease, or of a quorum's member that was not sealed,";

export function passesFence({ term, termId }: Fenced, found: Row | undefined): boolean {
  return found !== undefined && numberOf(found["term"]) === term && textOf(found["term_id"]) === termId;
}

export function fenced({ election, term }: Fenced, currentTerm: number | undefined): FencedError {
  const isBehind = currentTerm === undefined || currentTerm < term;
  return new FencedError(election, term, currentTerm, isBehind ? BEHIND : "the tables of this transaction");
}

export function checkFence(leadership: Fenced, found: Row | undefined): void {
  if (!passesFence(leadership, found)) throw fenced(leadership, found && (numberOf(found["term"]) ?? undefined));
}

/**
 * Returns the term below which a present fence may be replaced by the new fence. Usually it is the new fence's own term. A
 * record of a quorum replaces every fence, because the members together decide which record is later. A fence with a later term
 * may belong to a candidate that lost.
 */
export function outranks({ schema }: LeaseRecord, { term }: Fence): number {
  return schema === QUORUM_SCHEMA ? ABOVE_ALL_TERMS : term;
}

/**
 * Finds out why a write of lease and fence changed nothing. Usually another process wrote the lease meanwhile. Otherwise the
 * fence may be ahead of the lease: the leases were lost or restored, or belong to another database. Then no candidate may lead.
 *
 * @param below see {@link outranks}.
 * @param found the `version` of the lease's row, and the term of its fence as `fence_term`.
 * @returns true if the fence's row is missing. The caller has to make it again. @throws {TermRegressedError}
 */
export function fenceIsMissing(
  election: string,
  below: number,
  ifVersion: string,
  found: Row | undefined,
  fences: string,
): boolean {
  if (!found || textOf(found["version"]) !== ifVersion) return false;
  const fenceTerm = numberOf(found["fence_term"]);
  if (fenceTerm === null) return true;
  if (fenceTerm >= below) throw new TermRegressedError(election, below - 1, fenceTerm, undefined, `its row in ${fences}`);
  return false;
}

/**
 * Returns the error for a call of `fence()` outside a transaction. Its lock ends with the statement, so it would guard no later
 * write.
 */
export function notInTransaction(election: string, table: string): UnsupportedError {
  return new UnsupportedError(
    `fence() was called outside a transaction: its lock on ${table} would be gone before your write. Begin a transaction on that connection first.`,
    { election },
  );
}
