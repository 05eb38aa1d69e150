import type { Clock } from "@leasehold/core";

/** What each of some requests has come to: by whom it was sent to. Whoever is missing has not answered (yet), or has failed. */
export interface Gathered<T> {
  readonly answers: ReadonlyMap<string, T>;
  readonly failures: ReadonlyMap<string, unknown>;
}

/**
 * Waits for answers: until they are enough, all requests have settled, or `limitMs` has passed. The rest goes on, and is
 * nobody's concern here.
 */
export function gather<T>(
  clock: Clock,
  requests: ReadonlyMap<string, Promise<T>>,
  limitMs: number,
  isEnough: (answers: ReadonlyMap<string, T>) => boolean,
): Promise<Gathered<T>> {
  const answers = new Map<string, T>();
  const failures = new Map<string, unknown>();
  return new Promise((resolve) => {
    const timer = clock.setTimer(() => settle(), limitMs);
    const settle = (): void => {
      timer.cancel();
      // What comes later changes nothing that was decided by this.
      resolve({ answers: new Map(answers), failures: new Map(failures) });
    };
    const look = (): void => {
      if (answers.size + failures.size === requests.size || isEnough(answers)) settle();
    };
    for (const [name, request] of requests) {
      request.then(
        (answer) => {
          answers.set(name, answer);
          look();
        },
        (error: unknown) => {
          failures.set(name, error);
          look();
        },
      );
    }
    if (requests.size === 0) settle();
  });
}
