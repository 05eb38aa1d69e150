import type { MemberService } from "@leasehold/test-kit/stores/test-store";
import type { EventLog } from "./event-log.ts";
import type { Evidence, Expectation } from "./expectations.ts";
import type { Workers } from "./workers.ts";

/** The acts of a demo, and how the demo presents them. */
export interface Story {
  /** The processes of the story, for people: `three worker processes`. */
  readonly cast: string;
  /** A sentence about the measures in the picture. */
  readonly measured: string;
  /**
   * Plays the acts, one after another. It only waits for the expected events. `judge` checks afterwards that they were right, and
   * that no other event came.
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
  /** The stores that keep the leases together. Empty if there is only one store. */
  readonly members: readonly MemberService[];
  /** Ends the play at once with its reason. */
  readonly signal: AbortSignal;
}

/** A time that the picture shows, on the lane of a worker or of a store. */
export interface Measure {
  readonly lane: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}
