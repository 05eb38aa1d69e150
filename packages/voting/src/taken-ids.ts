/** A packet counts as old if its id is this far below the highest one. */
const WINDOW = 1_024;
/** The number of senders whose packets are remembered. The sender that was heard longest ago is dropped first. */
const MOST_SENDERS = 1_000;

/** The packets that were taken from each sender. No packet is taken twice. */
export class TakenIds {
  readonly #senders = new Map<string, { readonly ids: Set<number>; highest: number }>();

  /** Reports whether a packet arrives for the first time. A packet that many others have overtaken counts as old. */
  isNew(sender: string, id: number): boolean {
    const taken = this.#senders.get(sender) ?? { ids: new Set(), highest: 0 };
    this.#senders.delete(sender);
    this.#senders.set(sender, taken);
    if (this.#senders.size > MOST_SENDERS) this.#senders.delete(this.#senders.keys().next().value ?? "");
    if (id <= taken.highest - WINDOW || taken.ids.has(id)) return false;
    taken.ids.add(id);
    taken.highest = Math.max(taken.highest, id);
    if (taken.ids.size > 2 * WINDOW) {
      for (const old of taken.ids) if (old <= taken.highest - WINDOW) taken.ids.delete(old);
    }
    return true;
  }

  /** Forgets the packets of a sender, because it counts anew. */
  forget(sender: string): void {
    this.#senders.delete(sender);
  }
}
