import { systemClock, type Clock } from "../time/clock.ts";
import { ConfigurationError } from "../reporting/errors.ts";
import type { LeaseStore } from "./lease-store.ts";

/** Returns the one clock of a store and its users. By another, a lease might never seem to end. @throws {ConfigurationError} */
export function sharedClock(store: LeaseStore, given: Clock | undefined): Clock {
  if (given && store.clock && given !== store.clock) {
    throw new ConfigurationError(
      `The ${store.name} store goes by another clock than the one given here. Give the clock to the store alone: an elector or observer takes its store's.`,
    );
  }
  return given ?? store.clock ?? systemClock;
}
