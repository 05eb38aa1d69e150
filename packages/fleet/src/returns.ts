// Records the shards that were given back: how long each one rests, and which session should not get it again.

import type { GivenBack } from "./revise.ts";

/** The rest after the first failure. Each further failure doubles the rest. */
const FIRST_REST_MS = 2_000;
const LONGEST_REST_MS = 60_000;
/** The end of a long rest is rounded up to a multiple of this time. Many failing shards then need only one change of the plan. */
const GRID_MS = 10_000;
/** For this time after its rest a shard does not count in the shares. Another return in this time counts as a failure. */
const APART_MS = 60_000;

/** The shards that were given back, by the coordinator's monotonic clock. A new coordinator knows none, so rests may be lost. */
export class Returns {
  readonly #notes = new Map<string, { by: string; restsUntilMs: number; apartUntilMs: number }>();

  note({ shard, by, how, fails }: GivenBack, nowMs: number): void {
    const isWell = how === "returned" || how === "released";
    const restMs = isWell ? 0 : Math.min(FIRST_REST_MS * 2 ** (fails - 1), LONGEST_REST_MS);
    const endMs = nowMs + restMs;
    const restsUntilMs = restMs < GRID_MS ? endMs : Math.ceil(endMs / GRID_MS) * GRID_MS;
    this.#notes.set(shard, { by, restsUntilMs, apartUntilMs: restsUntilMs + APART_MS });
  }

  /** Returns the resting shards, and the shards given back lately, each with the id of its session. Forgets older returns. */
  at(nowMs: number): { resting: Set<string>; returned: Map<string, string> } {
    const resting = new Set<string>();
    const returned = new Map<string, string>();
    for (const [shard, { by, restsUntilMs, apartUntilMs }] of this.#notes) {
      if (apartUntilMs <= nowMs) this.#notes.delete(shard);
      else returned.set(shard, by);
      if (restsUntilMs > nowMs) resting.add(shard);
    }
    return { resting, returned };
  }

  /** Returns the time until the next rest ends; Infinity if no shard rests. */
  nextEndMs(nowMs: number): number {
    const ends = [...this.#notes.values()].map(({ restsUntilMs }) => restsUntilMs - nowMs).filter((ms) => ms > 0);
    return Math.min(...ends, Infinity);
  }
}
