// Records which shards were given back, for the coordinator: how long each one rests, and which session must not get it again.

import type { GivenBack } from "./revise.ts";

/** The rest after the first failure. It doubles with each further one. */
const FIRST_REST_MS = 2_000;
const LONGEST_REST_MS = 60_000;
/** Long rests are rounded up to multiples of this, so that many failing shards need only one change of the plan. */
const GRID_MS = 10_000;
/** For this time after its rest a shard is not counted in the shares, and another return of its task counts as a failure. */
const APART_MS = 60_000;

/** By the monotonic clock of the coordinator. A coordinator that begins anew knows of none, which costs a shard its rest at most. */
export class Returns {
  readonly #notes = new Map<string, { by: string; restsUntilMs: number; apartUntilMs: number }>();

  note({ shard, by, how, fails }: GivenBack, nowMs: number): void {
    const isWell = how === "returned" || how === "released";
    const restMs = isWell ? 0 : Math.min(FIRST_REST_MS * 2 ** (fails - 1), LONGEST_REST_MS);
    const endMs = nowMs + restMs;
    const restsUntilMs = restMs < GRID_MS ? endMs : Math.ceil(endMs / GRID_MS) * GRID_MS;
    this.#notes.set(shard, { by, restsUntilMs, apartUntilMs: restsUntilMs + APART_MS });
  }

  /** Returns the resting shards, and the shards that were given back lately with their sessions. Forgets older ones. */
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
