import { timestampOf, type ServerClock } from "./clock.ts";
import type { CommitResponse, Write } from "./messages.ts";
import { applyWrite, documentNameOf, type StoredDocument } from "./writes.ts";

/**
 * Keeps every document of every database, in memory. A commit is one synchronous step, so that commits are serializable whatever
 * their clients do.
 */
export class DocumentStore {
  readonly #clock: ServerClock;
  readonly #documents = new Map<string, StoredDocument>();
  readonly #listeners = new Set<() => void>();

  constructor(clock: ServerClock) {
    this.#clock = clock;
  }

  get(name: string): StoredDocument | undefined {
    return this.#documents.get(name);
  }

  /** Returns the documents of a collection, in the order of their ids. */
  inCollection(collection: string): readonly StoredDocument[] {
    const depth = collection.split("/").length + 1;
    return [...this.#documents.values()]
      .filter(({ name }) => name.startsWith(`${collection}/`) && name.split("/").length === depth)
      .toSorted((one, other) => compareNames(one.name, other.name));
  }

  /**
   * Carries out `writes` in their order, or none of them.
   * @throws the status of the first one that fails.
   */
  commit(writes: readonly Write[]): CommitResponse {
    const commitTime = this.#clock.next();
    const staged = new Map<string, StoredDocument | undefined>();
    const writeResults = writes.map((write) => {
      const name = documentNameOf(write);
      const current = staged.has(name) ? staged.get(name) : this.#documents.get(name);
      const { document, result } = applyWrite(write, current, commitTime);
      staged.set(name, document);
      return result;
    });
    // From here on nothing can fail.
    for (const [name, document] of staged) {
      if (document === undefined) this.#documents.delete(name);
      else this.#documents.set(name, document);
    }
    for (const listener of this.#listeners) listener();
    return { writeResults, commitTime: timestampOf(commitTime) };
  }

  /** Calls `listener` after every commit, until the returned function is called. `listener` must not throw. */
  onCommit(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/** Compares names of documents in the order of their bytes. */
export function compareNames(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
