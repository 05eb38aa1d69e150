import { LeadershipEndedError, sleep } from "@leasehold/core/provider";
import type { LeaderTask, LeaseStore } from "@leasehold/core";
import type { AttemptOutcome, LeadershipOf } from "@leasehold/core/occurrences";
import { AlreadyClaimedError } from "./already-claimed-error.ts";
import { attemptInTime, type AttemptOptions } from "./attempt-in-time.ts";
import { foundClaim } from "./claim-value.ts";

/** The longest and the shortest wait between two tries while a delivery waits for the lease. */
const POLL_MS = 2_000;
const MIN_POLL_MS = 100;

export interface LeadOptions<Store extends LeaseStore> {
  /** Returns the options of a try that begins now. */
  readonly attempt: () => AttemptOptions<Store>;
  /** Until this time the delivery tries again while another holds the lease, by the monotonic clock. */
  readonly waitEndMs: number;
  /** Until this time the delivery tries again while nobody is known to hold the lease and nothing blocks this candidate. */
  readonly openEndMs: number;
  /**
   * True if a block, such as a minimum hold, ends the tries once `waitEndMs` is over. False if the delivery tries until
   * `openEndMs`.
   */
  readonly mayBeHeldBack: boolean;
  /** The name of the request. */
  readonly delivery: string | undefined;
  readonly onClaimed: "throw" | "skip";
}

/**
 * Leads, at once or after a wait for the lease.
 * @throws {AlreadyClaimedError} if an earlier delivery of the same request still holds the lease. The platform then delivers
 *   again, because otherwise the work would be lost if that delivery has died.
 * @throws {LeadershipEndedError} if the time of the invocation is over while nobody is known to hold the lease.
 */
export async function lead<T, Store extends LeaseStore>(
  { attempt, waitEndMs, openEndMs, mayBeHeldBack, delivery, onClaimed }: LeadOptions<Store>,
  task: LeaderTask<T, LeadershipOf<Store>>,
): Promise<AttemptOutcome<T>> {
  for (;;) {
    const options = attempt();
    const { store, election, clock, signal } = options;
    const outcome = await attemptInTime(options, task);
    if (outcome.elected) return outcome;
    const reason = "reason" in outcome ? outcome.reason : undefined;
    if (reason === "done" || reason === "missed") return outcome;
    const isOpen = !("unavailable" in outcome) && !outcome.leader && !(mayBeHeldBack && reason === "held-back");
    const leftMs = (isOpen ? Math.max(openEndMs, waitEndMs) : waitEndMs) - clock.monotonicMs();
    if (leftMs >= MIN_POLL_MS) {
      const pollMs = Math.max(Math.min(store.nextLookMs(election, POLL_MS), POLL_MS), MIN_POLL_MS);
      await sleep(clock, Math.min(pollMs, leftMs - 1), signal);
      continue;
    }
    if (isOpen && openEndMs > 0)
      throw new LeadershipEndedError(
        election,
        0,
        "out-of-time",
        "nobody holds the lease, and the time of this invocation is over.",
      );
    if ("unavailable" in outcome || !outcome.leader) return outcome;
    const found = foundClaim(outcome.leader);
    const isOwn = delivery !== undefined && found.delivery === delivery;
    if (isOwn && onClaimed === "throw") throw new AlreadyClaimedError(election, delivery, found.leader);
    return { ...outcome, leader: found.leader };
  }
}
