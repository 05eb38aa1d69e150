import { TermRegressedError, type Clock, type AcquireRequest, type Instant, type Lease } from "@leasehold/core/provider";
import { NO_HIGHER_TERM } from "./cluster.ts";
import type { HeldKey } from "./holding.ts";
import { leaseNumber, randomLease, type ElectionKeys } from "./keys.ts";
import type { CandidateInfo } from "./schema.ts";
import type { Json } from "./transport.ts";
import { putting } from "./wire.ts";

/** A candidate that tries to get a term: a lease at etcd under a number of its own, and the keys on it. */
export interface EtcdCandidate {
  readonly request: AcquireRequest;
  readonly keys: ElectionKeys;
  /** The lease at etcd, in hex. It is the last part of the key, and the termId. */
  readonly hex: string;
  readonly leaseNumber: string;
  readonly info: CandidateInfo;
}

/**
 * Returns a new candidate. This process chooses the lease's number at random, so that it can find out the outcome of a request
 * whose reply was lost.
 */
export function newCandidate(clock: Clock, keys: ElectionKeys, request: AcquireRequest): EtcdCandidate {
  const { candidateId, leaseDurationMs, value } = request;
  const hex = randomLease(clock.randomUuid());
  const info = { schema: 1, candidateId, leaseDurationMs, published: value !== undefined } as const;
  return { request, keys, hex, leaseNumber: leaseNumber(hex), info };
}

/** Returns the operations that enter the candidate into the election. */
export function entering({ request, keys, hex, leaseNumber: lease, info }: EtcdCandidate): readonly Json[] {
  const { candidateId, value = candidateId } = request;
  return [putting(keys.candidate(hex), value, lease), putting(keys.info(hex), JSON.stringify(info), lease)];
}

export function ttlSeconds({ request }: EtcdCandidate): number {
  return request.leaseDurationMs / 1_000;
}

/** Returns the holding of a candidate that has become the holder of a term. */
export function holdingOf(
  { request, keys, hex, leaseNumber: number, info }: EtcdCandidate,
  term: number,
  revision: number,
  grantedAt: Instant,
): HeldKey {
  const { election, candidateId, leaseDurationMs } = request;
  const lease: Lease = { election, candidateId, term, termId: hex, leaseDurationMs, grantedAt };
  return { lease, keys, leaseNumber: number, info, revision, isOver: false };
}

/**
 * @throws {TermRegressedError} for a term that is not above the highest one seen by this process, or is below an administrator's
 * `minTerm`.
 */
export function checkTermOf(request: AcquireRequest, term: number): void {
  const highest = highestTermBefore(request);
  if (term <= highest) throw new TermRegressedError(request.election, term - 1, highest, NO_HIGHER_TERM);
}

/** Returns the highest term that a new term has to exceed. */
export function highestTermBefore({ aboveTerm = -Infinity, minTerm = -Infinity }: AcquireRequest): number {
  return Math.max(aboveTerm, minTerm - 1);
}
