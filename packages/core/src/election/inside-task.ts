import { AsyncLocalStorage } from "node:async_hooks";

/** From this Node version on, an async context adds no cost to promises. Older versions track each promise of the process. */
const CHEAP_SINCE = 24;

const contexts = Number.parseInt(process.versions.node, 10) >= CHEAP_SINCE ? new AsyncLocalStorage<object>() : undefined;

/** Calls a task, and marks the code that it runs as code of `owner`'s task. */
export function callTask<T>(owner: object, task: () => T): T {
  return contexts ? contexts.run(owner, task) : task();
}

/** Reports whether a task of `owner` has started this code. Always false on an older Node. */
export function isInsideTask(owner: object): boolean {
  return contexts?.getStore() === owner;
}
