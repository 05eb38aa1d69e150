import { TakenIds } from "./taken-ids.ts";

/**
 * Which start of each other server is the one to listen to: that which answers at its address. Of two processes with one name,
 * the one that is not at the address is heard by nobody.
 */
export class LiveStarts {
  readonly #ask: (name: string) => Promise<string | undefined>;
  readonly #starts = new Map<string, string>();
  readonly #asking = new Map<string, Promise<string | undefined>>();
  readonly #taken = new TakenIds();

  /** @param ask who answers at a server's address now; undefined for nobody. */
  constructor(ask: (name: string) => Promise<string | undefined>) {
    this.#ask = ask;
  }

  /** Whether any other one has been met. */
  get any(): boolean {
    return this.#starts.size > 0;
  }

  /** This start has answered a request of ours at the address of its name. */
  answers(name: string, start: string): void {
    if (this.#starts.get(name) === start) return;
    this.#starts.set(name, start);
    this.#taken.forget(name);
  }

  /** Reports whether this is the start that is at the address, and asks there if need be. */
  async isLive(name: string, start: string): Promise<boolean> {
    if (this.#starts.get(name) === start) return true;
    const asking = this.#asking.get(name) ?? this.#ask(name).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    const found = await asking;
    if (found !== undefined) this.answers(name, found);
    return found === start;
  }

  /** Reports whether a packet of the live start comes for the first time. */
  isNew(name: string, id: number): boolean {
    return this.#taken.isNew(name, id);
  }
}
