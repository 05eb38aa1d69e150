import { TakenIds } from "./taken-ids.ts";

/**
 * Knows the live start of each other server: the one that answers at the server's address. If two processes have one name, only
 * the process at the address is heard.
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

  /** Reports whether any other server has been met. */
  get any(): boolean {
    return this.#starts.size > 0;
  }

  /** Records that this start has answered a request of this server, at the address of its name. */
  answers(name: string, start: string): void {
    if (this.#starts.get(name) === start) return;
    this.#starts.set(name, start);
    this.#taken.forget(name);
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
