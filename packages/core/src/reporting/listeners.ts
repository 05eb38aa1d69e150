/** What went wrong in a listener or callback of the user's, and in which. */
export type ListenerFailed = (where: string, error: unknown) => void;

/** Listeners by event name, typed by a map from name to what the event carries. A listener that throws never disturbs who calls it. */
export class Listeners<Events extends object> {
  readonly #byName = new Map<keyof Events, Set<(event: never) => unknown>>();
  readonly #failed: ListenerFailed;

  constructor(failed: ListenerFailed) {
    this.#failed = failed;
  }

  /** Adds a listener; returns a function that removes it. */
  add<Name extends keyof Events>(name: Name, listener: (event: Events[Name]) => unknown): () => void {
    const listeners = this.#byName.get(name) ?? new Set();
    this.#byName.set(name, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byName.get(name) === listeners) this.#byName.delete(name);
    };
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      this.guard(String(name), () => (listener as (event: Events[Name]) => unknown)(event));
    }
  }

  /** Runs a notification of the user's; what it throws, at once or later, is reported and goes no further. */
  guard(where: string, notify: () => unknown): void {
    try {
      const result = notify();
      if (result instanceof Promise) result.catch((error: unknown) => this.#failed(where, error));
    } catch (error) {
      this.#failed(where, error);
    }
  }
}
