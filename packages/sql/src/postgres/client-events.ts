/** The listeners of a client whose driver has no events of its own. */
export class ClientEvents {
  readonly #listeners = new Map<string, Set<(value: never) => void>>();

  on(event: string, listener: (value: never) => void): void {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(listener));
  }

  off(event: string, listener: (value: never) => void): void {
    this.#listeners.get(event)?.delete(listener);
  }

  protected emit(event: string, value: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(value as never);
  }
}
