import { StoreError } from "@leasehold/core";
import { instantOf, shareLimits, type RenewOutcome, type RequestLimits } from "@leasehold/core/provider";
import { STORE_NAME } from "./etcd-errors.ts";
import { fenceOf } from "./fence.ts";
import type { HeldKey } from "./holding.ts";
import type { StoreParts } from "./parts.ts";
import type { KeepAliveReply, Transaction, TransactionReply } from "./requests.ts";
import { decodeNote } from "./schema.ts";
import { electionData, lookingAt, namesOf, sightingOf } from "./observed-election.ts";
import type { Json } from "./transport.ts";
import { createdAt, getting, putting } from "./wire.ts";

type LossOutcome = Extract<RenewOutcome, { held: false }>;

/**
 * Renews the lease: a keep-alive, and a linearizable read of its own key through the same member. The lease counts from before
 * the keep-alive was sent.
 *
 * A keep-alive alone proves nothing. etcd before 3.4.38, 3.5.23 and 3.6.5 confirms it even after a revocation. A member that
 * does not know yet that it is no longer the leader confirms it in every version.
 * @throws {StoreError} also if the members elected another leader between the two requests: the renewal may then be lost.
 */
export async function renewLease(parts: StoreParts, holding: HeldKey, given: RequestLimits): Promise<RenewOutcome> {
  const { clock, requests } = parts;
  const { election } = holding.lease;
  const limits = shareLimits(clock, given);
  const extendedAt = instantOf(clock);
  // A term that is over is not renewed, because a renewal would make standbys wait longer.
  const kept = holding.isOver ? undefined : await requests.keepAlive(election, holding.leaseNumber, limits);
  const found = await requests.read("renew", election, renewing(holding), { ...limits, endpoint: kept?.endpoint });
  const loss = lossIn(parts, holding, found);
  if (loss) return loss;
  if (kept?.ttlS === undefined) return lost(holding, "missing", "its lease at etcd has run out, or was revoked");
  checkSameLeader(election, kept, found);
  holding.revision = Math.max(holding.revision, found.header.revision);
  return { held: true, extendedAt };
}

/** Changes the term's value in one transaction. This does not extend the lease. */
export async function publishValue(
  parts: StoreParts,
  holding: HeldKey,
  value: string,
  limits: RequestLimits,
): Promise<RenewOutcome> {
  const { keys, leaseNumber, lease } = holding;
  const { election, termId } = lease;
  if (holding.isOver) return await renewLease(parts, holding, limits);
  const info = { ...holding.info, published: true };
  const success = [
    putting(keys.candidate(termId), value, leaseNumber),
    putting(keys.info(termId), JSON.stringify(info), leaseNumber),
  ];
  const transaction = { compare: fenceOf(keys, lease), success, failure: lookingAtOwn(holding) };
  const reply = await parts.requests.write("publish", election, transaction, limits);
  if (!reply.succeeded) return lossIn(parts, holding, reply) ?? lost(holding, "missing", "its key is gone");
  return { held: true };
}

/**
 * @throws {StoreError} unless both replies are of one raft term. In that case the member that extended the lease was still the
 * members' leader while the key was read. Every later leader restarts each lease with its full duration.
 */
export function checkSameLeader(election: string, kept: KeepAliveReply | undefined, found: TransactionReply): void {
  if (kept?.header.raftTerm === found.header.raftTerm && kept.header.clusterId === found.header.clusterId) return;
  const message = `${STORE_NAME}: the members elected another leader while '${election}' was renewed; the next renewal shows the result.`;
  throw new StoreError("STORE_CONFLICT", message, { store: STORE_NAME, operation: "renew", election, mayHaveBeenApplied: true });
}

/** Returns the read of a renewal. While its own key exists, no other candidate's key is read. */
function renewing(holding: HeldKey): Transaction {
  const { keys, lease } = holding;
  const own = keys.candidate(lease.termId);
  const success = [getting(own), getting(keys.note(lease.termId))];
  return { compare: [createdAt(own, lease.term)], success, failure: lookingAtOwn(holding) };
}

function lookingAtOwn({ keys, lease: { termId } }: HeldKey): readonly Json[] {
  return [getting(keys.candidate(termId)), getting(keys.note(termId)), ...lookingAt(keys)];
}

/** Returns how the lease was lost, from the replies to {@link lookingAtOwn}; `undefined` if it was not lost. */
function lossIn({ reader }: StoreParts, holding: HeldKey, { header, ranges }: TransactionReply): LossOutcome | undefined {
  const [[own] = [], [noted] = [], ...rest] = ranges;
  const { keys, leaseNumber, lease } = holding;
  const { election, term } = lease;
  const isOurs = own?.createRevision === term && own.lease === leaseNumber;
  if (isOurs && !noted) return undefined;
  const note = noted && decodeNote(noted.value);
  if (note?.kind === "break") return lost(holding, "broken", `an administrator broke it: ${note.reason}`, isOurs);
  if (note) return lost(holding, "missing", "it was released");
  const found = sightingOf(election, keys, header.revision, electionData(rest));
  reader.saw(found);
  if (!found.head) return lost(holding, "missing", `the key '${keys.candidate(lease.termId)}' in etcd is gone`);
  return lost(holding, "taken", `'${namesOf(found.head).holder}' has it, in term ${found.head.term}`);
}

function lost(holding: HeldKey, reason: LossOutcome["reason"], explanation: string, barredUntilExpiry = false): LossOutcome {
  holding.isOver = true;
  return { held: false, reason, barredUntilExpiry, explanation };
}
