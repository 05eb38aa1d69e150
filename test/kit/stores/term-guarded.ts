import { DatabaseSync } from "node:sqlite";
import type { Leadership } from "@leasehold/core";
import { inTransaction, openFile } from "./sqlite-file.ts";
import type { GuardedDocument, OpenStore } from "./test-store.ts";

/** How long to wait for another process's lock on the documents. */
const BUSY_MS = 1_000;

/** The documents have seen a later term. */
class StaleTerm extends Error {
  override readonly name = "StaleTerm";
}

/** Makes a file for documents that compare terms by themselves. */
export function makeTermGuarded(path: string): void {
  const database = new DatabaseSync(path);
  // The other lines of this process are not held up by the disk.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  database.exec("CREATE TABLE documents (name TEXT PRIMARY KEY, term INTEGER NOT NULL, content TEXT NOT NULL) STRICT");
  database.close();
}

/**
 * Documents for stores that have no fence of their own: a resource that is none of the store's remembers the highest term that it has
 * seen, and refuses what comes with a lower one. It has seen a term once that has sealed it.
 */
export function openTermGuarded(path: string): Pick<OpenStore, "document" | "isRefusal" | "close"> {
  const database = openFile(path, BUSY_MS);
  return {
    document: (name) => documentIn(database, name),
    isRefusal: (error) => error instanceof StaleTerm,
    close: () => Promise.resolve(database.close()),
  };
}

function documentIn(database: DatabaseSync, name: string): GuardedDocument {
  const present = (): { readonly term: number; readonly content: string } => {
    const row = database.prepare("SELECT term, content FROM documents WHERE name = ?").get(name);
    return { term: Number(row?.["term"] ?? 0), content: String(row?.["content"] ?? "") };
  };
  const update = async ({ term }: Leadership, change: (content: string) => string): Promise<void> => {
    await inTransaction(database, () => {
      const before = present();
      if (before.term > term)
        throw new StaleTerm(`The document has been written in term ${before.term}, and this is term ${term}.`);
      const after = change(before.content);
      database.prepare("INSERT OR REPLACE INTO documents (name, term, content) VALUES (?, ?, ?)").run(name, term, after);
    });
  };
  return {
    read: () => Promise.resolve(present().content),
    seal: (leadership) => update(leadership, (content) => content),
    update,
    write: (leadership, content) => update(leadership, () => content),
  };
}
