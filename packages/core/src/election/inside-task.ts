import { AsyncLocalStorage } from "node:async_hooks";
import { ConfigurationError, UnsupportedError } from "../reporting/errors.ts";
import type { Leadership } from "./leadership.ts";

/** From this Node version on, an async context adds no cost to promises. Older versions track each promise of the process. */
const CHEAP_SINCE = 24;

export interface TaskContext {
  readonly owner: object;
  readonly leadership: Leadership;
}

const contexts = Number.parseInt(process.versions.node, 10) >= CHEAP_SINCE ? new AsyncLocalStorage<TaskContext>() : undefined;

/** Calls a task, and marks the code that it runs as code of that task. */
export function callTask<T>(context: TaskContext, task: () => T): T {
  return contexts ? contexts.run(context, task) : task();
}

/** Reports whether a task of `owner` has started this code. Always false on an older Node. */
export function isInsideTask(owner: object): boolean {
  return contexts?.getStore()?.owner === owner;
}

/** Returns the valid leadership of the task that has started this code. Always `undefined` on an older Node. */
export function enclosingLeadership(): Leadership | undefined {
  const leadership = contexts?.getStore()?.leadership;
  return leadership?.isValid() ? leadership : undefined;
}

/**
 * Checks that the task which has started the calling code leads now, and returns its leadership. Use it in code deep below a task
 * of `run`, `tryRun`, `oncePerOccurrence`, a scheduler or a function. If tasks are nested, the innermost one counts. Like
 * `assertValid()`, it sends nothing, and stops no write that is already on its way.
 * @throws {LeaseLostError | LeadershipEndedError} if that leadership is over.
 * @throws {ConfigurationError} outside of a task, also in a leadership that is held by hand.
 * @throws {UnsupportedError} on a Node before version 24, where it would slow down every promise of the process.
 */
export function assertLeading(): Leadership {
  if (!contexts) {
    throw new UnsupportedError(
      `assertLeading needs Node ${CHEAP_SINCE} or later; this is ${process.versions.node}. Pass the leadership to the code that needs it.`,
    );
  }
  const context = contexts.getStore();
  if (!context) {
    throw new ConfigurationError("assertLeading was called outside of a leader's task. Call it in code that the task runs.");
  }
  context.leadership.assertValid();
  return context.leadership;
}

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
