/** So many packets may overtake one another on their way. */
const WINDOW = 1_024;
/** The senders whose packets are remembered; the one that was heard longest ago is let go first. */
const MOST_SENDERS = 1_000;

/** The packets of each sender that have been taken: none is taken again. */
export class TakenIds {
  readonly #senders = new Map<string, { readonly ids: Set<number>; highest: number }>();

  /** Reports whether a packet comes for the first time. One that many have overtaken counts as an old one. */
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

  /** A sender begins to count anew. */
  forget(sender: string): void {
    this.#senders.delete(sender);
  }
}
