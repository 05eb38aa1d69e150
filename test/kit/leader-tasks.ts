import type { Leadership } from "@leasehold/core";

/** A task that settles when its signal aborts. */
export async function untilAborted({ signal }: Leadership): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A task that only the test ends, and that shows its leadership. */
export class StubbornTask {
  /** One leadership for each start of the task. */
  readonly leaderships: Leadership[] = [];
  readonly #settled: Array<PromiseWithResolvers<void>> = [];

  readonly run = (leadership: Leadership): Promise<void> => {
    this.leaderships.push(leadership);
    const settled = Promise.withResolvers<void>();
    this.#settled.push(settled);
    return settled.promise;
  };

  /** The leadership of the last start. */
  get leadership(): Leadership {
    const last = this.leaderships.at(-1);
    if (!last) throw new Error("The task has not been started.");
    return last;
  }

  /** Ends the last start. */
  settle(): void {
    this.#settled.at(-1)?.resolve();
  }

  /** Makes the last start reject. */
  fail(error: unknown): void {
    this.#settled.at(-1)?.reject(error);
  }
}
