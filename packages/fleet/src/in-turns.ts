// Limits the number of requests of one process that are under way at once.

/** The most requests under way at once. More of them could delay the renewals of the session. */
const AT_ONCE = 16;

/** Returns a function that sends a request, once fewer than `AT_ONCE` others are under way. */
export function inTurns(): <T>(request: () => Promise<T>) => Promise<T> {
  const waiting: Array<() => void> = [];
  let underWay = 0;
  return async (request) => {
    if (underWay >= AT_ONCE) await new Promise<void>((resolve) => void waiting.push(resolve));
    else underWay += 1;
    try {
      return await request();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else underWay -= 1;
    }
  };
}
