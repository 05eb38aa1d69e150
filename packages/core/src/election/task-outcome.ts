/** The depth to which a chain of causes is followed, should one be circular. */
const MAX_CAUSES = 16;

/**
 * Reports whether a task's rejection only says that it stopped when it had to: its signal has aborted, and the error is
 * that signal's reason, is an AbortError (of whichever SDK), or has one of these among its causes. What `assertValid()`
 * throws after the abort has the reason as its cause.
 */
export function countsAsReturn(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  let cause: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && cause !== undefined; depth += 1) {
    if (cause === signal.reason || isAbortError(cause)) return true;
    cause = (cause as { cause?: unknown } | null)?.cause;
  }
  return false;
}

/** DOM's, Node's, Azure's and AWS's abort errors all carry this name; Node's also has a code. */
function isAbortError(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return name === "AbortError" || code === "ABORT_ERR";
}
