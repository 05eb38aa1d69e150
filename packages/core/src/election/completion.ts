import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";

/** The outcome of an occurrence's completion, as far as it is known. */
export type CompletionState = "not-sent" | "unknown" | "confirmed";

/** Records that an occurrence is done: by one call at a time, and by none once one was confirmed. */
export class Completion {
  readonly #send: () => Promise<void>;
  #state: CompletionState = "not-sent";
  #underWay: Promise<void> | undefined;

  /** @param send rejects unless it is known to be recorded. */
  constructor(send: () => Promise<void>) {
    this.#send = send;
  }

  get state(): CompletionState {
    return this.#state;
  }

  async complete(): Promise<void> {
    if (this.#state === "confirmed") return;
    this.#underWay ??= this.#sendOnce().finally(() => {
      this.#underWay = undefined;
    });
    await this.#underWay;
  }

  async #sendOnce(): Promise<void> {
    this.#state = "unknown";
    await this.#send();
    this.#state = "confirmed";
  }
}

/** Reports whether what a term on this store is for can be done once and for good. */
export function canComplete(store: LeaseStore): store is OccurrenceStore {
  return typeof (store as Partial<OccurrenceStore>).complete === "function";
}
