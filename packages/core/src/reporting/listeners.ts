/** Is called with what a listener for `event` threw. */
export type ListenerFailed = (event: string, error: unknown) => void;

/**
 * Listeners by event name, typed by a map from name to what the event carries. A listener that throws never disturbs who calls
 * it.
 */
export class Listeners<Events extends object> {
  /** Made for the first listener: most electors have none. */
  #byName: Map<keyof Events, Set<(event: never) => unknown>> | undefined;
  readonly #failed: ListenerFailed;

  constructor(failed: ListenerFailed) {
    this.#failed = failed;
  }

  /** Adds a listener; returns a function that removes it. */
  add<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => unknown): () => void {
    this.#byName ??= new Map();
    const listeners = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, listeners.add(listener));
    return () => void listeners.delete(listener);
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const failed = (error: unknown): void => this.#failed(String(name), error);
    for (const listener of [...(this.#byName?.get(name) ?? [])]) {
      try {
        const result = (listener as (event: Events[Name]) => unknown)(event);
        if (result instanceof Promise) result.catch(failed);
      } catch (error) {
        failed(error);
      }
    }
  }
}
