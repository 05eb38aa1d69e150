import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { REQUEST_CHANNEL, type StoreRequest } from "@leasehold/core/diagnostics";

/** Requests by their kind. */
export interface Requests {
  readonly reads: number;
  /** The requests that change something. */
  readonly writes: number;
}

/** DynamoDB's question about its table, once in a process. The service charges nothing for it. */
const FREE = "describe-table";

/** Counts requests to stores, as the library publishes them, but for those that no service charges. */
export class RequestCounter implements Disposable {
  readonly #byStore = new Map<string, Requests>();
  readonly #count = (message: unknown): void => {
    const { store, operation, writes: isWrite } = message as StoreRequest;
    if (operation === FREE) return;
    const { reads, writes } = this.by(store);
    this.#byStore.set(store, isWrite ? { reads, writes: writes + 1 } : { reads: reads + 1, writes });
  };

  constructor() {
    subscribe(REQUEST_CHANNEL, this.#count);
  }

  /** Returns how many requests the stores of that name have ended since the start. */
  of(store: string): number {
    const { reads, writes } = this.by(store);
    return reads + writes;
  }

  /** Returns the reads and writes of one store, or of several together. */
  by(...stores: readonly string[]): Requests {
    const sent = stores.flatMap((store) => this.#byStore.get(store) ?? []);
    return {
      reads: sent.reduce((sum, { reads }) => sum + reads, 0),
      writes: sent.reduce((sum, { writes }) => sum + writes, 0),
    };
  }

  /** Returns how many requests the members of a store have ended: all counted stores except that one. */
  ofMembersOf(store: string): number {
    return [...this.#byStore.keys()].reduce((sum, name) => sum + (name === store ? 0 : this.of(name)), 0);
  }

  /** Returns the requests to a member of a store, as the median over its members, because the last member may be late. */
  byMemberOf(store: string): Requests {
    const members = [...this.#byStore].flatMap(([name, sent]) => (name === store ? [] : [sent]));
    const middle = (kind: keyof Requests): number => {
      const ascending = members.map((sent) => sent[kind]).toSorted((one, other) => one - other);
      return ascending[(ascending.length - 1) / 2] ?? 0;
    };
    return { reads: middle("reads"), writes: middle("writes") };
  }

  [Symbol.dispose](): void {
    unsubscribe(REQUEST_CHANNEL, this.#count);
  }
}
