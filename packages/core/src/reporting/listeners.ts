/** Listeners by event name, typed by a map from name to event. A listener that throws never disturbs the code that emits. */
export class Listeners<Events extends object> {
  /** Created for the first listener, because most electors have none. */
  #byName: Map<keyof Events, Set<(event: never) => unknown>> | undefined;
  readonly #failed: (event: string, error: unknown) => void;

  constructor(failed: (event: string, error: unknown) => void) {
    this.#failed = failed;
  }

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
