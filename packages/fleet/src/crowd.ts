// How long members have neither come nor gone, as a coordinator sees it.

import type { FleetSettings } from "./fleet-options.ts";
import type { Plan, Seen, SeenSlot } from "./plan.ts";

/** So many renew intervals after the warning all members have polled once. */
const WARNED = 1.2;

export class Crowd {
  readonly #settings: FleetSettings;
  #present = "";
  #changedMs: number;
  /** Since when most shards are free; gathering counts from then. */
  #gatherMs: number;
  /** When nothing was under way for the last time. */
  #calmMs: number;
  #warnedMs = Infinity;

  constructor(settings: FleetSettings, nowMs: number) {
    this.#settings = settings;
    this.#changedMs = nowMs;
    this.#gatherMs = nowMs;
    this.#calmMs = nowMs;
  }

  /** True if one member was seen to live, and no other. */
  get isAlone(): boolean {
    return this.#present !== "" && !this.#present.includes(",");
  }

  /** Notes the members that live now, and the plan. */
  note(seen: Seen, plan: Plan | undefined, nowMs: number): void {
    const alive = [...seen.values()]
      .filter(lives)
      .map(({ report }) => report?.id ?? "")
      .toSorted()
      .join();
    if (alive !== this.#present) {
      this.#present = alive;
      this.#changedMs = nowMs;
    }
    const shards = [...(plan?.shards.values() ?? [])];
    const free = shards.filter(({ slot }) => slot === undefined).length;
    if (alive === "" || (shards.length > 0 && free <= shards.length / 2)) this.#gatherMs = nowMs;
  }

  /** Returns what the next plan needs to know. */
  at(nowMs: number): { settled: boolean; warned: boolean; gathering: boolean } {
    const { settleMs, gatherMs, timing } = this.#settings;
    const quietMs = nowMs - this.#changedMs;
    return {
      // Where members come and go without end, shards are balanced all the same.
      settled: quietMs >= settleMs || nowMs - this.#calmMs >= 10 * settleMs,
      // Without a member that could take the shards, there is nobody to warn.
      warned: this.#present === "" || nowMs - this.#warnedMs >= WARNED * timing.renewIntervalMs,
      // Gathering ends, whoever comes and goes.
      gathering: quietMs < gatherMs && nowMs - this.#gatherMs < 3 * gatherMs,
    };
  }

  /** Notes whether members are told to poll often. */
  told(isBusy: boolean, nowMs: number): void {
    if (!isBusy) {
      this.#calmMs = nowMs;
      this.#warnedMs = Infinity;
    } else if (this.#warnedMs === Infinity) this.#warnedMs = nowMs;
  }
}

/** Reports whether a session lives, or may live for all that a new coordinator knows. One that stops goes anyway. */
function lives({ state, report }: SeenSlot): boolean {
  return (state === "held" || state === "unknown") && report?.stopping === false;
}
