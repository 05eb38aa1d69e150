import { systemClock, type Clock } from "../time/clock.ts";
import { ConfigurationError } from "../reporting/errors.ts";
import type { LeaseStore } from "./lease-store.ts";

/**
 * Returns the one clock of a store and its users. The store says by its clock when a lease was granted, and an elector counts
 * from then. By another clock, a lease might never seem to end.
 *
 * @throws {ConfigurationError} if both were given a clock, and not the same one.
 */
export function sharedClock(store: LeaseStore, given: Clock | undefined): Clock {
  if (given && store.clock && given !== store.clock) {
    throw new ConfigurationError(
      `The ${store.name} store goes by another clock than the one given here. Give the clock to the store alone: an elector or observer takes its store's.`,
    );
  }
  return given ?? store.clock ?? systemClock;
}
