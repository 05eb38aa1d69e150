import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { GuardedText, StoreUnderTest, TestEnvironment } from "@leasehold/conformance";
import { isLeaseholdError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { SqlLeaseStore } from "@leasehold/sql";
import type { SqliteHandle } from "../src/sqlite/sqlite-handle.ts";
import { sqlite } from "@leasehold/test-kit/stores/sqlite";
import type { OpenStore } from "@leasehold/test-kit/stores/test-store";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { MovedTime } from "@leasehold/test-kit/conformance/moved-time";
import { SOME_ROUNDS } from "@leasehold/test-kit/conformance/some-rounds";
import { inFile } from "@leasehold/test-kit/stores/sqlite-file";
import { ODD_TABLE, onOddTables } from "./odd-names.ts";

/** An application's handle of any library. */
export interface ClosableHandle extends SqliteHandle {
  close(): unknown;
}

/** A SQLite library other than `node:sqlite`. */
export interface SqliteLibrary {
  readonly name: string;
  open(path: string): ClosableHandle;
}

// Time runs beside being moved. So long a lease, and the limit of a request with it, outlasts a stall of a busy machine.
const LEASE_MS = 60_000;
const NO_NETWORK = "nothing lies between a store and its files, which it uses without waiting";

/** Returns the subject of the suite: files, each with a name that `path` returns. */
export function onSqlite(name: string, path: () => string, library?: SqliteLibrary): StoreUnderTest {
  return {
    name,
    leaseMs: LEASE_MS,
    // A store whose files are locked tries again every 10 ms.
    outageMs: 2 * LEASE_MS,
    rounds: SOME_ROUNDS,
    requests: { acquire: 1, renew: 1, release: 1, look: 1 },
    lacks: { faults: NO_NETWORK, duplicates: NO_NETWORK, watch: "SQLite cannot push" },
    open: () => Promise.resolve(new SqlitePlace(path(), library)),
  };
}

/**
 * Two files that each store opens for itself. To move the host's clock, this makes every stored time of it earlier, which is the
 * same for a store.
 *
 * With a library, each store has a handle of it, and nothing else opens the file of the data. Two libraries would destroy it.
 */
class SqlitePlace implements TestEnvironment {
  readonly #path: string;
  readonly #library: SqliteLibrary | undefined;
  readonly #named: { readonly table?: string };
  readonly #handles: ClosableHandle[] = [];
  readonly #time = new MovedTime({ advance: (ms) => Promise.resolve(this.#advance(ms)) });
  readonly #stores: SqlLeaseStore[] = [];
  #guarding: OpenStore | undefined;
  /** True while another process has locked the leases. */
  #isLocked = false;
  /** The simulated time that has passed since then. */
  #passedMs = 0;

  constructor(path: string, library?: SqliteLibrary) {
    this.#path = path;
    this.#library = library;
    this.#named = library ? { table: ODD_TABLE } : {};
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  connect(): Promise<SqlLeaseStore> {
    return this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<SqlLeaseStore> {
    const farthest = (): Promise<unknown> | undefined => (this.#isLocked ? Promise.resolve() : undefined);
    const file = this.#library ? this.#handle(this.#library) : this.#path;
    const open = (storeClock: Clock): SqlLeaseStore => new SqlLeaseStore({ sqlite: file, clock: storeClock, ...this.#named });
    const store = this.#time.store(open, { clock, farthest });
    this.#stores.push(store);
    return Promise.resolve(store);
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  /** Locks the leases as another process would. The other processes find the file, but cannot read it. */
  interrupt(): Promise<AsyncDisposable> {
    const leases = new DatabaseSync(this.#leasesPath);
    leases.exec("BEGIN EXCLUSIVE");
    this.#isLocked = true;
    const unlock = (): void => {
      leases.close();
      this.#isLocked = false;
      this.#advance(this.#passedMs);
      this.#passedMs = 0;
    };
    return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve(unlock()) });
  }

  async guard(): Promise<GuardedText> {
    const create = "CREATE TABLE documents (name TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT";
    if (this.#library) return this.#guardOn(this.#handle(this.#library), create);
    inFile(this.#path, (documents) => documents.exec(create));
    this.#guarding = await sqlite.open({ store: "sqlite", path: this.#path });
    return guardedText(this.#guarding);
  }

  #guardOn(database: ClosableHandle, create: string): GuardedText {
    database.exec(create);
    const store = new SqlLeaseStore({ sqlite: database, ...this.#named });
    this.#stores.push(store);
    return {
      read: async () =>
        (database.prepare("SELECT content FROM documents").get() as { readonly content?: string } | undefined)?.content ?? "",
      write: async (leadership, text) => {
        database.exec("BEGIN IMMEDIATE");
        try {
          await store.fence(leadership, database);
          database.prepare("INSERT OR REPLACE INTO documents (name, content) VALUES ('guarded', ?)").run(text);
          database.exec("COMMIT");
          return true;
        } catch (error) {
          database.exec("ROLLBACK");
          if (isLeaseholdError(error, "FENCED")) return false;
          throw error;
        }
      },
    };
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const file = this.#library ? this.#handle(this.#library) : this.#path;
    await using store = new SqlLeaseStore({ sqlite: file, ...this.#named });
    await store.migrate();
    const version = what === "foreign" ? null : 2;
    this.#inLeases((leases) =>
      leases
        .prepare(
          this.#placed(
            "INSERT INTO leasehold_leases (election, version, schema_version, value) VALUES (?, 'theirs', ?, 'do not touch')",
          ),
        )
        .run(election, version),
    );
  }

  readRaw(election: string): Promise<unknown> {
    const lease = this.#inLeases((leases) =>
      leases.prepare(this.#placed("SELECT * FROM leasehold_leases WHERE election = ?")).get(election),
    );
    const select = this.#placed("SELECT * FROM leasehold_fences WHERE election = ?");
    const fence = this.#library
      ? this.#handle(this.#library).prepare(select).get(election)
      : inFile(this.#path, (fences) => fences.prepare(select).get(election));
    return Promise.resolve(lease && { lease, fence });
  }

  remove(election: string): Promise<void> {
    this.#inLeases((leases) => leases.prepare(this.#placed("DELETE FROM leasehold_leases WHERE election = ?")).run(election));
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#time.stop();
    await this.#guarding?.close();
    for (const store of this.#stores) await store.close();
    for (const handle of this.#handles) handle.close();
  }

  #advance(ms: number): void {
    if (this.#isLocked) {
      this.#passedMs += ms;
      return;
    }
    // Before a store has opened the file, it has no tables, and no times.
    if (!existsSync(this.#leasesPath)) return;
    this.#inLeases((leases) => {
      leases.exec(this.#placed(`UPDATE leasehold_leases SET nonce_at = nonce_at - ${ms}`));
      const expiry = `expires_at = expires_at - ${Math.round(ms)}`;
      leases.exec(this.#placed(`UPDATE leasehold_occurrences SET nonce_at = nonce_at - ${ms}, ${expiry}`));
    });
  }

  #placed(sql: string): string {
    return this.#library ? onOddTables(sql, "", '"') : sql;
  }

  #handle(library: SqliteLibrary): ClosableHandle {
    const handle = library.open(this.#path);
    this.#handles.push(handle);
    return handle;
  }

  get #leasesPath(): string {
    return `${this.#path}-leasehold`;
  }

  #inLeases<T>(act: (leases: DatabaseSync) => T): T {
    return inFile(this.#leasesPath, act);
  }
}
