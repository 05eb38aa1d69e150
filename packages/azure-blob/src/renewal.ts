import { instantOf, shareLimits, type RenewOutcome, type RequestLimits } from "@leasehold/core/provider";
import { failureOf, lossOf } from "./azure-blob-errors.ts";
import type { HeldBlobLease } from "./holding.ts";
import type { StoreParts } from "./parts.ts";
import { keepGridSharp } from "./published-grid.ts";
import { rewriteTerm } from "./term-rewrite.ts";

/** Renews the lease in one request. Sends more requests only to explain a loss. */
export async function renewLease(parts: StoreParts, holding: HeldBlobLease, given: RequestLimits): Promise<RenewOutcome> {
  const limits = shareLimits(parts.clock, given);
  const extendedAt = instantOf(parts.clock);
  try {
    await parts.requests.renew(holding.lease.election, holding.client, limits);
    holding.extendedAt = extendedAt;
    keepGridSharp(parts, holding, given);
    return { held: true, extendedAt };
  } catch (error) {
    return await lossOrThrow(parts, holding, error, limits);
  }
}

/** Changes the term's value. This does not extend the lease. */
export async function publishValue(
  parts: StoreParts,
  holding: HeldBlobLease,
  value: string,
  given: RequestLimits,
): Promise<RenewOutcome> {
  const limits = shareLimits(parts.clock, given);
  try {
    await rewriteTerm(parts, "publish", holding, { value }, limits);
    return { held: true };
  } catch (error) {
    return await lossOrThrow(parts, holding, error, limits);
  }
}

/** Returns how the lease was lost. Throws the failure if the lease may still be held. */
async function lossOrThrow(
  { requests, reader }: StoreParts,
  holding: HeldBlobLease,
  error: unknown,
  limits: RequestLimits,
): Promise<RenewOutcome> {
  const reason = lossOf(failureOf(error));
  if (!reason) throw error;
  const { election, term } = holding.lease;
  reader.sawEnd(holding);
  if (reason !== "broken") {
    const explanation =
      reason === "missing" ? `${requests.describe(election)} is gone` : "another candidate has the lease, or it was released";
    return { held: false, reason, barredUntilExpiry: false, explanation };
  }
  const found = await reader.read(election, limits).catch(() => undefined);
  const note = found?.note?.term === term ? found.note : undefined;
  holding.transferring = note?.transfer !== undefined;
  return {
    held: false,
    reason,
    // A break with a note lasts as long as the rest of the lease. Another tool may have cut the lease short.
    barredUntilExpiry: found?.leaseState === "breaking" && note !== undefined,
    explanation: holding.transferring
      ? `an administrator asked for a transfer to '${note?.transfer?.candidateId}'`
      : `an administrator broke it: ${note?.reason ?? "no reason was left"}`,
  };
}
