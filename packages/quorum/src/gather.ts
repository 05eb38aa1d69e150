import type { Clock } from "@leasehold/core/provider";

/** The results of some requests, by the member that each was sent to. A member in neither map has not answered yet. */
export interface Gathered<T> {
  readonly answers: ReadonlyMap<string, T>;
  readonly failures: ReadonlyMap<string, unknown>;
}

/**
 * Waits until the answers are enough, all requests have settled, or `limitMs` has passed. The remaining requests continue; their
 * results are ignored here.
 */
export function gather<T>(
  clock: Clock,
  requests: ReadonlyMap<string, Promise<T>>,
  limitMs: number,
  isEnough: (answers: ReadonlyMap<string, T>) => boolean = () => false,
): Promise<Gathered<T>> {
  const answers = new Map<string, T>();
  const failures = new Map<string, unknown>();
  return new Promise((resolve) => {
    const timer = clock.setTimer(() => settle(), limitMs);
    const settle = (): void => {
      timer.cancel();
      // Copies: a later answer must not change the result that the caller decides on.
      resolve({ answers: new Map(answers), failures: new Map(failures) });
    };
    const check = (): void => {
      if (answers.size + failures.size === requests.size || isEnough(answers)) settle();
    };
    for (const [name, request] of requests) {
      request.then(
        (answer) => {
          answers.set(name, answer);
          check();
        },
        (error: unknown) => {
          failures.set(name, error);
          check();
        },
      );
    }
    if (requests.size === 0) settle();
  });
}
