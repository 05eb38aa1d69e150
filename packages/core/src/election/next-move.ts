import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { PlaceInOrder } from "./acquire-order.ts";

/** A poll and its reply. The instants are by the monotonic clock. */
export interface Polled {
  readonly snapshot: LeaseSnapshot | undefined;
  readonly isWoken: boolean;
  readonly sentMs: number;
  /** The instant from which this candidate could act, if it were the only one. */
  readonly knownMs: number;
  /** The end of the lease, as this process observes it. Infinity if that end alone would not let the candidate acquire. */
  readonly expiresMs: number;
}

export interface Situation {
  /** The last poll; undefined after a failure, or after an attempt that used it. */
  readonly polled: Polled | undefined;
  /** True until the candidate has waited after that poll. */
  readonly isNew: boolean;
  /** True until the candidate's first wait. Only candidates that wait can learn at one instant that the lease is free. */
  readonly isFirst: boolean;
  readonly turn: PlaceInOrder | undefined;
  readonly nowMs: number;
  readonly isPushed: boolean;
  readonly isWoken: boolean;
  readonly readInMs: number;
  readonly cooldownMs: number;
  readonly mayAcquire: boolean;
  readonly needsProof: boolean;
}

/**
 * The next step of a candidate. A wake-up ends `wait` and `cool-down`, and does not end `pause` and `await-turn`.
 *
 * - `await-turn`: wait for this candidate's turn among those that may acquire.
 * - `forget`: drop the last poll, because another candidate may have acquired since.
 * - `prove`: prove the right to write, then wait.
 */
export type Move =
  | { readonly do: "read" | "await-turn" | "forget" | "acquire" | "prove" | "wait" }
  | { readonly do: "pause"; readonly ms: number }
  | { readonly do: "cool-down"; readonly leftMs: number };

/** Decides the next move of a candidate on a store without a queue. It reads no clock, sends nothing and draws nothing. */
export function nextMove(situation: Situation): Move {
  const { polled, isNew, isFirst, turn, readInMs, cooldownMs, mayAcquire, needsProof } = situation;
  if (polled && turn) {
    // Reports whether the candidate would know by now if another one had acquired. Candidates that go first need not know.
    const knowsOfOthers = turn.isFirst || polled.sentMs >= turn.atMs || (situation.isPushed && !situation.isWoken);
    return { do: knowsOfOthers ? "acquire" : "forget" };
  }
  // A new poll shows by itself that the lease is over. In the cooldown only a poll shows a newer term, which ends it.
  const isExpired =
    !isNew && polled !== undefined && !situation.isWoken && situation.nowMs >= polled.expiresMs && cooldownMs <= 0;
  if (!isExpired && !(polled && isNew)) return readInMs > 0 ? { do: "pause", ms: readInMs } : { do: "read" };
  if (cooldownMs > 0) return { do: "cool-down", leftMs: cooldownMs };
  // A lease of unknown age is not over before this candidate has observed its end. Only a first attempt restarts the age.
  const mayTry = mayAcquire && (isFirst || polled?.expiresMs === Infinity);
  if (isExpired || mayTry) return { do: isFirst ? "acquire" : "await-turn" };
  return { do: needsProof ? "prove" : "wait" };
}
