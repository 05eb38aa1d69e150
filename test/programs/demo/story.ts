import type { MemberService } from "@leasehold/test-kit/stores/test-store";
import type { EventLog } from "./event-log.ts";
import type { Evidence, Expectation } from "./expectations.ts";
import type { Workers } from "./workers.ts";

/** What a demo shows, and how it is told. */
export interface Story {
  /** Who is in it, for people: `three worker processes`. */
  readonly cast: string;
  /** What the picture's measures are of. */
  readonly measured: string;
  /**
   * The world's acts, one after another. It only waits for what should happen: whether it happened in time, and nothing
   * else did, is judged afterwards.
   */
  readonly play: (stage: Stage) => Promise<void>;
  readonly judge: (evidence: Evidence) => Expectation[];
  readonly measures: (evidence: Evidence) => Measure[];
}

export interface Stage {
  readonly log: EventLog;
  readonly workers: Workers;
  readonly election: string;
  readonly leaseDurationMs: number;
  readonly unitOfWorkMs: number;
  /** The stores that the leases are kept in together; none where there is one. */
  readonly members: readonly MemberService[];
  /** Ends the play at once, with its reason. */
  readonly signal: AbortSignal;
}

/** A time that the picture shows, on the lane of a worker or of a store. */
export interface Measure {
  readonly lane: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}
