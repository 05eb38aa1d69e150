import type { LeaseSnapshot } from "../store/lease-snapshot.ts";

/**
 * How long an election was without a leader, as one candidate saw it: since the last renewal of a leader that died, or since the
 * last look that showed one that has released.
 */
export class Leaderless {
  #heldMs: number | undefined;
  #renewedMs = -Infinity;
  #sinceMs: number | undefined;

  /** A look at `atMs` has shown this. */
  saw(snapshot: LeaseSnapshot | undefined, atMs: number): void {
    if (snapshot?.state === "vacant") this.#sinceMs ??= this.#heldMs;
    // What has expired without being seen to be held since counts from its last renewal.
    else if (snapshot?.holder !== undefined && snapshot.state !== "expired") {
      this.#held(atMs, atMs - (snapshot.ageMs?.[0] ?? 0));
    }
  }

  /** This candidate has renewed, or has begun to lead. */
  leads(atMs: number): void {
    this.#held(atMs, atMs);
  }

  /** This candidate has released. */
  released(atMs: number): void {
    this.#sinceMs = atMs;
  }

  /** Returns how long it was, for a candidate that begins to lead; undefined where it saw no leader before. */
  lastedMs(atMs: number): number | undefined {
    const sinceMs = this.#sinceMs ?? (this.#heldMs === undefined ? undefined : this.#renewedMs);
    return sinceMs === undefined ? undefined : atMs - sinceMs;
  }

  #held(atMs: number, renewedMs: number): void {
    this.#heldMs = atMs;
    this.#renewedMs = Math.max(this.#renewedMs, renewedMs);
    this.#sinceMs = undefined;
  }
}
