import { DatabaseSync } from "node:sqlite";
import type { Leadership } from "@leasehold/core";
import { inTransaction, openFile } from "./sqlite-file.ts";
import type { GuardedDocument, OpenStore } from "./test-store.ts";

/** The wait for another process's lock on the documents. */
const BUSY_MS = 1_000;

/** The error of a write after the documents have seen a later term. */
class StaleTerm extends Error {
  override readonly name = "StaleTerm";
}

/** Creates a file for documents that compare terms themselves. */
export function makeTermGuarded(path: string): void {
  const database = new DatabaseSync(path);
  // With these settings the disk does not delay the other work of this process.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  database.exec("CREATE TABLE documents (name TEXT PRIMARY KEY, term INTEGER NOT NULL, content TEXT NOT NULL) STRICT");
  database.close();
}

/**
 * Returns documents for stores that have no fence of their own. The documents are a separate resource. It remembers the highest
 * term that it has seen, and refuses a write with a lower one. A seal makes it see a term.
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
