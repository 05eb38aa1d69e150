/**
 * Why a candidate may not acquire at present:
 * - `done`: an occurrence that is done; nobody may, ever again.
 * - `lease`: somebody has the lease, or may have it; nobody may.
 * - `hold`: the lease was released before its minimum hold was over; nobody may for `leftMs` more.
 * - `pause`: an administrator has paused the election; nobody may until it is resumed. A present leader goes on.
 * - `transfer`: an administrator transfers the leadership; only this candidate may.
 * - `reservation`: only candidates of this group may.
 */
export type Blocker =
  | { readonly kind: "done" }
  | { readonly kind: "lease" }
  | { readonly kind: "hold"; readonly leftMs: number }
  /** `sinceMs` is the time of the pause by the wall clock of its administrator, in milliseconds since the Unix epoch. */
  | { readonly kind: "pause"; readonly reason: string; readonly sinceMs?: number | undefined }
  | { readonly kind: "transfer"; readonly candidateId: string }
  | { readonly kind: "reservation"; readonly group: string };

/**
 * The state of a lease, as a read finds it.
 * - `held`: somebody leads.
 * - `ending`: somebody leads, and an administrator has asked for an end.
 * - `expired`: nobody renewed in time; anyone may acquire.
 * - `vacant`: released, or never acquired; anyone may acquire.
 * - `unknown`: this reader cannot know yet; `holder` is the last one known.
 */
export type LeaseState = "held" | "ending" | "expired" | "vacant" | "unknown";

export interface LeaseSnapshot {
  readonly election: string;
  readonly state: LeaseState;
  /** The last term given out; 0 if none was. */
  readonly term: number;
  /** The candidateId of the present leader or, where the state is `unknown` or `expired`, of the last one known. */
  readonly holder?: string | undefined;
  /** The value that this leader published. */
  readonly value?: string | undefined;
  /** Bounds of the time since the last renewal, in milliseconds; the upper one may be Infinity. */
  readonly ageMs?: readonly [min: number, max: number] | undefined;
  /** The duration of that lease. */
  readonly leaseDurationMs?: number | undefined;
  /**
   * Nobody who has not seen the lease before can know its age, and it may have run out. An attempt to acquire it
   * by the store's clock fails, and has the store count its age from then on. So it is with a record that was deleted, by any clock.
   */
  readonly undated?: true | undefined;
  /** The blocker that keeps candidates from acquiring at present; absent where anyone may try. */
  readonly bar?: Blocker | undefined;
  /** The reason for which an administrator broke it. */
  readonly endingReason?: string | undefined;
}
