/** The longest chain of causes that is followed, in case it is circular. */
const MAX_CAUSES = 16;

/** Reports whether a task rejected only because its signal has aborted: the error or one of its causes is an abort. */
export function countsAsReturn(error: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  let cause: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && cause !== undefined; depth += 1) {
    if (cause === signal.reason || isAbortError(cause)) return true;
    cause = (cause as { cause?: unknown } | null)?.cause;
  }
  return false;
}

/** The abort errors of the DOM, Node, Azure and AWS all have this name. Node's also has a code. */
function isAbortError(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return name === "AbortError" || code === "ABORT_ERR";
}
