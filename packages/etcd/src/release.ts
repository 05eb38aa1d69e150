import { shareLimits, type ReleaseOptions, type ReleaseOutcome } from "@leasehold/core/provider";
import type { HeldKey } from "./holding.ts";
import { leaseNumber, randomLease } from "./keys.ts";
import type { StoreParts } from "./parts.ts";
import type { CallLimits } from "./requests.ts";
import type { Note } from "./schema.ts";
import type { Json } from "./transport.ts";
import { createdAt, deleting, onLease, putting } from "./wire.ts";

/**
 * Ends the term, in one transaction, on the condition that the key is still this term's. The next candidate in the queue then
 * sees the key's deletion. After that the lease is revoked; a failed revocation is ignored.
 *
 * A hold leaves the key in place, on another lease that no process renews, with a note that the term is over. So the key blocks
 * programs in Go, too.
 */
export async function releaseLease(
  parts: StoreParts,
  holding: HeldKey,
  { holdMs = 0, ...given }: ReleaseOptions,
): Promise<ReleaseOutcome> {
  const { clock, requests } = parts;
  const limits = shareLimits(clock, given);
  const { keys, lease } = holding;
  const { election, term, termId } = lease;
  holding.isOver = true;
  const leaving = holdMs > 0 ? await staying(parts, holding, Math.ceil(holdMs / 1_000), limits) : going(holding);
  const compare = [createdAt(keys.candidate(termId), term), onLease(keys.candidate(termId), holding.leaseNumber)];
  const { succeeded } = await requests.write("release", election, { compare, success: leaving }, limits);
  await requests.revoke(election, holding.leaseNumber, limits).catch(() => undefined);
  return succeeded ? "released" : "not-held";
}

function going({ keys, lease: { termId } }: HeldKey): readonly Json[] {
  return [keys.candidate(termId), keys.info(termId), keys.note(termId)].map(deleting);
}

/** Grants a lease of this duration, and returns the operations that move the key to it. */
async function staying(
  { clock, requests }: StoreParts,
  { keys, lease: { election, candidateId, termId }, info }: HeldKey,
  seconds: number,
  limits: CallLimits,
): Promise<readonly Json[]> {
  const number = leaseNumber(randomLease(clock.randomUuid()));
  await requests.grant(election, number, seconds, limits);
  const note: Note = { schema: 1, kind: "hold", holdMs: seconds * 1_000 };
  return [
    putting(keys.candidate(termId), candidateId, number),
    putting(keys.info(termId), JSON.stringify({ ...info, published: false }), number),
    putting(keys.note(termId), JSON.stringify(note), number),
  ];
}
