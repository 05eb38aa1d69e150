import { isLeaseholdError, type LeaseSnapshot, type LeaseStore, type ListedElection } from "@leasehold/core";
import { isoOf } from "@leasehold/core/provider";
import { formatDuration } from "./duration.ts";
import { printable } from "./text.ts";

/** Reads an election once. The store's own clock decides whether the lease has expired, if the store has one. */
export async function look(store: LeaseStore, election: string, signal?: AbortSignal): Promise<LeaseSnapshot | undefined> {
  const expiry = store.capabilities.storeClock ? "store-clock" : "observed";
  return await store.read(election, { expiry, signal });
}

/** Returns the age of a lease against its duration: `3.2 s of 15 s`. */
export function ageOf({ ageMs, leaseDurationMs }: LeaseSnapshot): string {
  if (!ageMs) return "";
  const [min, max] = ageMs;
  const least = formatDuration(min);
  const age =
    formatDuration(max) === least ? least : Number.isFinite(max) ? `${least} to ${formatDuration(max)}` : `${least} or more`;
  return leaseDurationMs === undefined ? age : `${age} of ${formatDuration(leaseDurationMs)}`;
}

/** Describes the reason of a break, and what blocks candidates besides a lease. Returns an empty text if there is neither. */
export function barText({ bar, endingReason }: LeaseSnapshot): string {
  const words: string[] = [];
  if (endingReason !== undefined) words.push(`broken: ${printable(endingReason)}`);
  switch (bar?.kind) {
    case "done":
      words.push("done");
      break;
    case "pause":
      words.push(`paused: ${printable(bar.reason)}${bar.sinceMs === undefined ? "" : `, since ${isoOf(bar.sinceMs)}`}`);
      break;
    case "hold":
      words.push(`held free for ${formatDuration(bar.leftMs)} more`);
      break;
    case "transfer":
      words.push(`for ${printable(bar.candidateId)} alone`);
      break;
    case "reservation":
      words.push(`for the group ${printable(bar.group)} alone`);
      break;
    case "lease":
    case undefined:
  }
  return words.join(", ");
}

/**
 * Reports whether the election's record is gone from the store, and only its fence still shows a term. `ageUnknown` has two
 * causes: the missing record, or the store's clock. So this reads once more without the store's clock.
 */
export async function isLost(store: LeaseStore, { election, state, ageUnknown }: LeaseSnapshot): Promise<boolean> {
  return state === "vacant" && ageUnknown === true && (await store.read(election, { expiry: "observed" }))?.ageUnknown === true;
}

/** Printed where a store has no election to show. */
export const NO_ELECTION = "there is no such election in this store.";

/**
 * Returns the elections of a store whose names begin with `prefix`, by name. Each is as of its own read.
 * @throws {UnsupportedError} if the store cannot list elections.
 */
export async function listedElections(
  store: LeaseStore,
  prefix: string | undefined,
  signal: AbortSignal,
): Promise<readonly ListedElection[]> {
  const found: ListedElection[] = [];
  for await (const election of store.list(prefix, { signal })) found.push(election);
  return found.toSorted((one, other) => (one.election < other.election ? -1 : 1));
}

/** The error codes of a store that may recover. */
const OUTAGES = ["STORE_TIMEOUT", "STORE_UNAVAILABLE", "STORE_THROTTLED"] as const;

/** Reports whether a store has failed in a way that may pass. */
export function isOutage(error: unknown): error is Error {
  return OUTAGES.some((code) => isLeaseholdError(error, code));
}
