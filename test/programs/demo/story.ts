import type { EventLog } from "./event-log.ts";
import type { Workers } from "./workers.ts";

/** The acts of a demo. */
export interface Story {
  /** The processes of the story, for people: `three worker processes`. */
  readonly cast: string;
  /**
   * Plays the acts, one after another. It only waits for the expected events. `judgeWorkers` checks afterwards that they were
   * right, and that no other event came.
   */
  readonly play: (stage: Stage) => Promise<void>;
}

export interface Stage {
  readonly log: EventLog;
  readonly workers: Workers;
  readonly unitOfWorkMs: number;
  /** Ends the play at once with its reason. */
  readonly signal: AbortSignal;
}
