import { AsyncLocalStorage } from "node:async_hooks";

/** From this Node on a context costs nothing where promises are made. Older ones follow each promise of the whole process. */
const CHEAP_SINCE = 24;

const contexts = Number.parseInt(process.versions.node, 10) >= CHEAP_SINCE ? new AsyncLocalStorage<object>() : undefined;

/** Calls a task, whose code is known from then on as that of `owner`'s. */
export function callTask<T>(owner: object, task: () => T): T {
  return contexts ? contexts.run(owner, task) : task();
}

/** Reports whether this is called by code that a task of `owner`'s has begun. On a Node where that is not cheap, it never is. */
export function isInsideTask(owner: object): boolean {
  return contexts?.getStore() === owner;
}
