/** A packet counts as old if its id is this far below the highest one. */
const WINDOW = 1_024;
/** The number of senders whose packets are remembered. The sender that was heard longest ago is dropped first. */
const MOST_SENDERS = 1_000;

/**
 * The live start of each other server: the start that answers at the server's address. If two processes have one name, packets
 * count only from the process at that address.
 */
export class PeerIncarnations {
  readonly #ask: (name: string) => Promise<string | undefined>;
  readonly #starts = new Map<string, string>();
  readonly #asking = new Map<string, Promise<string | undefined>>();
  readonly #taken = new TakenIds();

  /** @param ask returns the start that answers at a server's address now; undefined if none answers. */
  constructor(ask: (name: string) => Promise<string | undefined>) {
    this.#ask = ask;
  }

  /** Reports whether any other server has answered a request of this server. */
  get hasAnswer(): boolean {
    return this.#starts.size > 0;
  }

  /** Records the start that has answered at the address of server `name`. Returns true for the first start of that server. */
  answers(name: string, start: string): boolean {
    const known = this.#starts.get(name);
    if (known === start) return false;
    this.#starts.set(name, start);
    this.#taken.forget(name);
    return known === undefined;
  }

  /** Reports whether this start is the live one. Asks at the server's address if that is not known. */
  async isLive(name: string, start: string): Promise<boolean> {
    if (this.#starts.get(name) === start) return true;
    const asking = this.#asking.get(name) ?? this.#ask(name).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    const found = await asking;
    if (found !== undefined) this.answers(name, found);
    return found === start;
  }

  /** Reports whether a packet of the live start arrives for the first time. */
  isNew(name: string, id: number): boolean {
    return this.#taken.isNew(name, id);
  }
}

/** The ids of the packets that were accepted from each sender. No packet is accepted twice. */
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
