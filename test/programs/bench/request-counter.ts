import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { REQUEST_CHANNEL } from "@leasehold/core";
import type { StoreRequest } from "@leasehold/core";

/** Counts requests to stores, as the library itself tells of them. */
export class RequestCounter implements Disposable {
  readonly #byStore = new Map<string, number>();
  readonly #count = (message: unknown): void => {
    const { store } = message as StoreRequest;
    this.#byStore.set(store, this.of(store) + 1);
  };

  constructor() {
    subscribe(REQUEST_CHANNEL, this.#count);
  }

  /** How many requests the stores of that name have ended since the start. */
  of(store: string): number {
    return this.#byStore.get(store) ?? 0;
  }

  /** How many those have ended that a store is made of, which has counted itself as well. */
  ofMembersOf(store: string): number {
    return [...this.#byStore].reduce((sum, [name, count]) => sum + (name === store ? 0 : count), 0);
  }

  [Symbol.dispose](): void {
    unsubscribe(REQUEST_CHANNEL, this.#count);
  }
}
