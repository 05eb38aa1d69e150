import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { inTransaction, openFile } from "./sqlite-file.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

/** The wait for another process's lock on the documents. */
const BUSY_MS = 1_000;

/** SQLite has no service, only files in a temporary folder. */
export const sqlite: TestStore = {
  title: "SQLite",
  leaseDurationMs: 2_000,

  missing: () => Promise.resolve(undefined),

  async start() {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-sqlite-"));
    const path = join(folder, "data.db");
    const database = new DatabaseSync(path);
    database.exec("CREATE TABLE documents (name TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT");
    database.close();
    let lock: DatabaseSync | undefined;
    const resume = (): void => {
      lock?.close();
      lock = undefined;
    };
    return {
      settings: { store: "sqlite", path },
      place: `no server, the file ${path}`,
      pause: async () => {
        resume();
        lock = await lockBoth(path);
      },
      resume,
      [Symbol.asyncDispose]: async () => {
        resume();
        await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  },

  open({ path = "" }) {
    const store = new SqlLeaseStore({ sqlite: path });
    const database = openFile(path, BUSY_MS);
    return Promise.resolve({
      store,
      document: (name) => documentIn(database, store, name),
      isRefusal: (error) => isLeaseholdError(error, "FENCED"),
      close: async () => {
        database.close();
        await store.close();
      },
    });
  },
};

function documentIn(database: DatabaseSync, store: SqlLeaseStore, name: string): GuardedDocument {
  const write = async (leadership: Leadership, content: string | ((before: string) => string)): Promise<void> => {
    await inTransaction(database, async () => {
      await store.fence(leadership, database);
      const after = typeof content === "string" ? content : content(read());
      database.prepare("INSERT OR REPLACE INTO documents (name, content) VALUES (?, ?)").run(name, after);
    });
  };
  const read = (): string =>
    String(database.prepare("SELECT content FROM documents WHERE name = ?").get(name)?.["content"] ?? "");
  return {
    read: () => Promise.resolve(read()),
    update: write,
    write,
  };
}

/** Locks the file of the documents and that of the leases, also for readers, once no other process locks them. */
async function lockBoth(path: string): Promise<DatabaseSync> {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    let isAttached = false;
    for (;;) {
      try {
        if (!isAttached) database.prepare("ATTACH ? AS leases").run(`${path}-leasehold`);
        isAttached = true;
        database.exec("BEGIN EXCLUSIVE");
        return database;
      } catch (error) {
        // SQLITE_BUSY. Waiting for it in SQLite would block this process.
        if ((error as { readonly errcode?: number }).errcode !== 5) throw error;
      }
      await delay(1);
    }
  } catch (error) {
    database.close();
    throw error;
  }
}
