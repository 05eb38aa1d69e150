import { LeadershipEndedError, type LeaderTask, type LeadershipOf, type LeaseStore } from "@leasehold/core";
import { sleep, type AttemptOutcome } from "@leasehold/core/provider";
import { AlreadyClaimedError } from "./already-claimed-error.ts";
import { attemptInTime, type AttemptOptions } from "./attempt-in-time.ts";
import { foundClaim } from "./claim-value.ts";

/** The longest and the shortest wait between two tries of one that waits for its turn. */
const LOOK_MS = 2_000;
const MIN_LOOK_MS = 100;

export interface LeadOptions<Store extends LeaseStore> {
  /** Returns the options of a try that begins now. */
  readonly attempt: () => AttemptOptions<Store>;
  /** The instant until which it is tried again while another holds it, by the monotonic clock. */
  readonly waitEndMs: number;
  /** The instant until which it is tried again while nobody is known to hold it, and nothing holds this one back. */
  readonly openEndMs: number;
  /** It is an answer that something holds this one back, such as a minimum hold: it is not tried again for that. */
  readonly mayBeHeldBack: boolean;
  /** What names the request. */
  readonly delivery: string | undefined;
  readonly onClaimed: "throw" | "skip";
}

/**
 * Leads, at once or after a wait for its turn.
 * @throws {AlreadyClaimedError} if an earlier delivery of the same request holds it still: if that one has died, nobody else
 *   would ask for it again.
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
    if (reason === "done") return outcome;
    const isOpen = !("unavailable" in outcome) && !outcome.leader && !(mayBeHeldBack && reason === "held-back");
    const leftMs = (isOpen ? Math.max(openEndMs, waitEndMs) : waitEndMs) - clock.monotonicMs();
    if (leftMs >= MIN_LOOK_MS) {
      const lookMs = Math.max(Math.min(store.nextLookMs(election, LOOK_MS), LOOK_MS), MIN_LOOK_MS);
      await sleep(clock, Math.min(lookMs, leftMs - 1), signal);
      continue;
    }
    if (isOpen && openEndMs > 0)
      throw new LeadershipEndedError(election, 0, "out-of-time", "nobody has it, and its time is over.");
    if ("unavailable" in outcome || !outcome.leader) return outcome;
    const found = foundClaim(outcome.leader);
    const isOwn = delivery !== undefined && found.delivery === delivery;
    if (isOwn && onClaimed === "throw") throw new AlreadyClaimedError(election, delivery, found.leader);
    return { ...outcome, leader: found.leader };
  }
}
