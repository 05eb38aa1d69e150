import { isLeaseholdError, type LeaseStore } from "@leasehold/core";
import { summarizeError } from "@leasehold/core/diagnostics";
import type { Clock } from "@leasehold/core/provider";
import type { FleetStatus } from "@leasehold/fleet";
import type { WholeFleet } from "./figures.ts";
import { Watch } from "./watch.ts";

/** The pause between two reads of a fleet. */
const PERIOD_MS = 2_000;

/** A fleet as it was read, or why it cannot be read. */
export type FleetView = FleetStatus | { readonly fleet: string; readonly error: string };

/** Reads fleets for as long as somebody follows them. */
export class FleetWatch extends Watch<FleetView> {
  readonly #store: LeaseStore;
  readonly #fleets: readonly string[];

  constructor(store: LeaseStore, fleets: readonly string[], clock: Clock) {
    super(clock, PERIOD_MS);
    this.#store = store;
    this.#fleets = fleets;
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

  /** Reads each fleet once, for metrics. A fleet that cannot be read is left out. */
  async figures(): Promise<readonly WholeFleet[]> {
    const views = await Promise.all(this.#fleets.map(async (fleet) => await this.#read(fleet)));
    return views.flatMap((view) => ("error" in view ? [] : [wholeFleet(view)]));
  }

  async #read(fleet: string): Promise<FleetView> {
    const { readFleet } = await import("@leasehold/fleet");
    const failed = (error: unknown): FleetView => ({ fleet, error: summarizeError(error).message });
    return await readFleet(this.#store, fleet).catch(failed);
  }

  protected override async *read(): AsyncGenerator<FleetView> {
    for (const fleet of this.#fleets) yield await this.#read(fleet);
  }
}

function wholeFleet({ fleet, members, shards }: FleetStatus): WholeFleet {
  const states = { held: 0, leaving: 0, lost: 0, unknown: 0, failing: 0, free: 0 };
  for (const { state } of shards) states[state] += 1;
  const counts = members.map((member) => member.shards);
  const imbalance = counts.length === 0 ? 0 : Math.max(...counts) - Math.min(...counts);
  return { fleet, members: members.length, shards: states, imbalance };
}
