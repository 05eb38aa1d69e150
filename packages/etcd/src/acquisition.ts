import { isLeaseholdError } from "@leasehold/core";
import { instantOf, mayHaveBeenApplied, type AcquireOutcome, type AcquireRequest } from "@leasehold/core/provider";
import {
  checkTermOf,
  entering,
  highestTermBefore,
  holdingOf,
  newCandidate,
  ttlSeconds,
  type EtcdCandidate,
} from "./candidate.ts";
import { isLeaseGone } from "./etcd-errors.ts";
import type { StoreParts } from "./parts.ts";
import type { TransactionReply } from "./requests.ts";
import { electionData, lookingAt, sightingOf } from "./observed-election.ts";

/**
 * Tries once to lead, without a place in the queue. It wins only if the election has no candidate. One transaction decides, on
 * the condition that no key exists below the election's prefix.
 */
export async function acquireLease(parts: StoreParts, request: AcquireRequest): Promise<AcquireOutcome> {
  const { reader, requests, cluster, clock } = parts;
  const { election } = request;
  const keys = parts.keysOf(election);
  if (!reader.wasVacant(election) || cluster.revision < highestTermBefore(request)) {
    const found = await reader.read(keys, election, request);
    if (found.head) return { acquired: false, current: await reader.snapshot(found, request) };
  }
  checkTermOf(request, cluster.revision + 1);
  const candidate = newCandidate(clock, keys, request);
  const grantedAt = instantOf(clock);
  const { succeeded, header, ranges } = await enter(parts, candidate);
  if (succeeded) {
    reader.sawOwn(candidate, header.revision);
    return { acquired: true, lease: parts.holdings.add(holdingOf(candidate, header.revision, header.revision, grantedAt)) };
  }
  const found = sightingOf(election, keys, header.revision, electionData(ranges));
  reader.saw(found);
  // A lease without a key blocks no candidate, and ends by itself.
  await requests.revoke(election, candidate.leaseNumber, request).catch(() => undefined);
  return { acquired: false, current: await reader.snapshot(found, request) };
}

/** Grants the lease, and enters the candidate if the election has none. */
async function enter({ requests, reader }: StoreParts, candidate: EtcdCandidate): Promise<TransactionReply> {
  const { request, keys, hex, leaseNumber } = candidate;
  // If the grant's reply is lost, the transaction shows the outcome: it fails if the lease does not exist.
  const unanswered = await requests.grant(request.election, leaseNumber, ttlSeconds(candidate), request).then(
    () => undefined,
    (error: unknown) => {
      if (!mayHaveBeenApplied(error)) throw error;
      return error as Error;
    },
  );
  const nobody = { ...keys.candidates, target: "CREATE", result: "EQUAL", create_revision: "0" } as const;
  const transaction = { compare: [nobody], success: entering(candidate), failure: lookingAt(keys) };
  try {
    return await requests.write("acquire", request.election, transaction, request);
  } catch (error) {
    // etcd may have created the key, or may still do so. The revocation deletes the key, and makes a late transaction fail. A
    // cluster that has gone back has carried the transaction out.
    if (mayHaveBeenApplied(error) || isLeaseholdError(error, "TERM_REGRESSED")) {
      reader.abandon(request.election, hex);
      await requests.revoke(request.election, leaseNumber, request).catch(() => undefined);
    }
    throw isLeaseGone(error) ? (unanswered ?? error) : error;
  }
}
