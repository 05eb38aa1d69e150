import { isLeaseholdError } from "../reporting/errors.ts";
import type { Lease } from "../store/lease-store.ts";
import type { CampaignOptions } from "./campaign.ts";
import type { CandidateRequests } from "./candidate-requests.ts";

/** Makes one attempt, without waiting. Makes another if the first soon fails on a kept connection that broke in a freeze. */
export async function attemptOnce(
  { candidacy, clock, timing }: CampaignOptions,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const startMs = clock.monotonicMs();
  const { isWell } = candidacy.contact;
  try {
    return await readAndTry(candidacy, signal);
  } catch (error) {
    const tookMs = clock.monotonicMs() - startMs;
    const isBroken = isWell && isLeaseholdError(error, "STORE_UNAVAILABLE") && tookMs < timing.attemptTimeoutMs;
    if (!isBroken || signal.aborted) throw error;
    return await readAndTry(candidacy, signal);
  }
}

async function readAndTry(candidacy: CandidateRequests, signal: AbortSignal): Promise<Lease | undefined> {
  const mayTry = candidacy.mayTry(await candidacy.read("store-clock", signal)) && !signal.aborted;
  return mayTry ? await candidacy.attempt("store-clock") : undefined;
}
