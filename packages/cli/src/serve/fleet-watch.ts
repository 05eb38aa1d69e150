import { isLeaseholdError, type LeaseStore } from "@leasehold/core";
import { summarizeError } from "@leasehold/core/diagnostics";
import { sleep, type Clock } from "@leasehold/core/provider";
import type { FleetStatus } from "@leasehold/fleet";

/** The pause between two reads of a fleet. */
const PERIOD_MS = 2_000;

/** A fleet as it was read, or why it cannot be read. */
export type FleetView = FleetStatus | { readonly fleet: string; readonly error: string };

/** Reads fleets for as long as somebody follows them. */
export class FleetWatch {
  readonly #store: LeaseStore;
  readonly #fleets: readonly string[];
  readonly #clock: Clock;
  #following: AbortController | undefined;

  constructor(store: LeaseStore, fleets: readonly string[], clock: Clock) {
    this.#store = store;
    this.#fleets = fleets;
    this.#clock = clock;
  }

  /** @throws {ConfigurationError | UnsupportedError} for a name that no fleet has, or a store that keeps none. */
  async check(): Promise<void> {
    for (const fleet of this.#fleets) {
      const { readFleet } = await import("@leasehold/fleet");
      await readFleet(this.#store, fleet).catch((error: unknown) => {
        if (isLeaseholdError(error, "CONFIGURATION") || isLeaseholdError(error, "UNSUPPORTED")) throw error;
      });
    }
  }

  start(tell: (view: FleetView) => void): void {
    if (this.#fleets.length === 0) return;
    this.#following = new AbortController();
    void this.#follow(tell, this.#following.signal).catch(() => undefined);
  }

  stop(): void {
    this.#following?.abort();
  }

  async #follow(tell: (view: FleetView) => void, signal: AbortSignal): Promise<void> {
    const { readFleet } = await import("@leasehold/fleet");
    while (!signal.aborted) {
      for (const fleet of this.#fleets) {
        const failed = (error: unknown): FleetView => ({ fleet, error: summarizeError(error).message });
        const view = await readFleet(this.#store, fleet).catch(failed);
        if (!signal.aborted) tell(view);
      }
      await sleep(this.#clock, PERIOD_MS, signal);
    }
  }
}
