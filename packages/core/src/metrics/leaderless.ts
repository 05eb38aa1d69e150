import type { LeaseSnapshot } from "../store/lease-snapshot.ts";

/** Measures how long an election has no leader, as one candidate observes it; see `takeover` of the meters. */
export class Leaderless {
  #heldMs: number | undefined;
  #renewedMs = -Infinity;
  #sinceMs: number | undefined;

  saw(snapshot: LeaseSnapshot | undefined, atMs: number): void {
    if (snapshot?.state === "vacant") this.#sinceMs ??= this.#heldMs;
    // An expired lease changes nothing. The time without a leader counts from its last renewal.
    else if (snapshot?.holder !== undefined && snapshot.state !== "expired") {
      this.#held(atMs, atMs - (snapshot.ageMs?.[0] ?? 0));
    }
  }

  leads(atMs: number): void {
    this.#held(atMs, atMs);
  }

  released(atMs: number): void {
    this.#sinceMs = atMs;
  }

  /** Returns the time without a leader for a candidate that begins to lead; undefined if it observed no leader before. */
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
