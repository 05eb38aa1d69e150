import { FencedError, TermRegressedError, UnsupportedError } from "@leasehold/core";
import { QUORUM_SCHEMA, type Fence, type Fenced, type LeaseRecord } from "@leasehold/core/provider";
import { FENCES, numberOf, textOf, type Row } from "./schema.ts";

const ABOVE_ALL_TERMS = Number.MAX_SAFE_INTEGER + 1;
/** What to say of tables that have not heard of the leadership. */
const BEHIND =
  "the tables of this transaction, which are of another database than the lease, or of a quorum's member that was not sealed,";

/** Returns whether the fence that was found is this leadership's. */
export function passesFence({ term, termId }: Fenced, found: Row | undefined): boolean {
  return found !== undefined && numberOf(found["term"]) === term && textOf(found["term_id"]) === termId;
}

/** Returns the error of a leadership that the fence refuses. @param currentTerm that of the fence; `undefined` if there is none. */
export function fenced({ election, term }: Fenced, currentTerm: number | undefined): FencedError {
  const isBehind = currentTerm === undefined || currentTerm < term;
  return new FencedError(election, term, currentTerm, isBehind ? BEHIND : "the tables of this transaction");
}

/** @throws {FencedError} unless the fence that was found is this leadership's. */
export function checkFence(leadership: Fenced, found: Row | undefined): void {
  if (!passesFence(leadership, found)) throw fenced(leadership, found && (numberOf(found["term"]) ?? undefined));
}

/**
 * Returns the term below which a fence gives way to this one: its own. To a record of a quorum every fence gives way, since what
 * the other members have chosen decides which is the later one: one of a later term may be a loser's.
 */
export function outranks({ schema }: LeaseRecord, { term }: Fence): number {
  return schema === QUORUM_SCHEMA ? ABOVE_ALL_TERMS : term;
}

/**
 * Finds out why a write of lease and fence changed nothing. Mostly somebody has written since. But the fence may be ahead,
 * since the leases were lost or restored, or are not those that it was made with: then nobody may lead.
 *
 * @param below the term below which a fence gives way.
 * @param found the `version` of the lease row, and the `fence_term` beside it.
 * @returns true if the fence's row is missing, and has to be made again.
 * @throws {TermRegressedError} if the fence is of this term already, or of a later one.
 */
export function fenceIsMissing(election: string, below: number, ifVersion: string, found: Row | undefined): boolean {
  if (!found || textOf(found["version"]) !== ifVersion) return false;
  const fenceTerm = numberOf(found["fence_term"]);
  if (fenceTerm === null) return true;
  if (fenceTerm >= below) throw new TermRegressedError(election, below - 1, fenceTerm, undefined, `its row in ${FENCES}`);
  return false;
}

/** Returns the error of a fence outside a transaction: a lock that ends with the statement guards nothing. */
export function notInTransaction(election: string, table: string): UnsupportedError {
  return new UnsupportedError(
    `fence() was called outside a transaction: its lock on ${table} would be gone before your write. Begin a transaction on that connection first.`,
    { election },
  );
}
