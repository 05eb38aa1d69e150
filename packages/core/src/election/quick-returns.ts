import type { ElectorParts } from "./elector-options.ts";
import type { Leadership, LeaderTask } from "./leadership.ts";

/** A task that returns by itself in less than this time does no lasting work. */
const QUICK_MS = 1_000;
/** The number of quick returns in a row at which the elector warns. */
const MANY = 2;

/** Counts the terms in which a task of `run` returns at once, because it does not await the work that it starts. */
export class QuickReturns {
  readonly #parts: ElectorParts;
  #inARow = 0;

  constructor(parts: ElectorParts) {
    this.#parts = parts;
  }

  get pauseMs(): number {
    return this.#inARow >= MANY ? this.#parts.timing.retryPeriodMs : 0;
  }

  counted<Led extends Leadership>(task: LeaderTask<unknown, Led>): LeaderTask<unknown, Led> {
    const { clock } = this.#parts;
    return async (leadership) => {
      const beganMs = clock.monotonicMs();
      const result = await task(leadership);
      const isQuick = !leadership.signal.aborted && clock.monotonicMs() - beganMs < QUICK_MS;
      this.#inARow = isQuick ? this.#inARow + 1 : 0;
      if (this.#inARow === MANY) this.#warn();
      return result;
    };
  }

  #warn(): void {
    const { election, journal, timing } = this.#parts;
    const text = `The task of run() for '${election}' has returned at once, twice in a row. Each return gives the lease up, and what the task started goes on without it. run() is for work that goes on: did you forget an await? For a job use oncePerOccurrence(). To lead until you stop, call run() without a task. From now on there are ${timing.retryPeriodMs} ms between two terms.`;
    journal.warn("LEASEHOLD_TASK_RETURNED", "warn", text, { election });
  }
}

export async function untilEnded({ ended }: Leadership): Promise<void> {
  await ended;
}
