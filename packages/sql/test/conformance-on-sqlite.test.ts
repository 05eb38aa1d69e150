import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { GuardedText, Place } from "@leasehold/conformance";
import { systemClock, type Clock } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { afterAll, beforeAll } from "vitest";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { sqlite } from "@leasehold/test-kit/stores/sqlite";
import type { OpenStore } from "@leasehold/test-kit/stores/test-store";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { LONG_OUTAGE_MS } from "@leasehold/test-kit/conformance/real-time";
import { runConformance, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import { inFile } from "@leasehold/test-kit/stores/sqlite-file";

const NO_NETWORK = "nothing lies between a store and its files, which it uses without waiting";

let folder: string;

beforeAll(async () => {
  folder = await memoryFolder("conformance-sqlite-");
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

runConformance(
  {
    name: "sqlite",
    leaseMs: 3_000,
    outageMs: LONG_OUTAGE_MS,
    rounds: SOME_ROUNDS,
    requests: { acquire: 1, renew: 1, release: 1, look: 1 },
    lacks: { faults: NO_NETWORK, duplicates: NO_NETWORK, watch: "SQLite cannot push", unseen: "a look is no request here" },
    open: () => Promise.resolve(new SqlitePlace(join(folder, `${randomUUID()}.db`))),
  },
  { concurrently: true },
);

/** Two files of its own, which each store opens for itself. */
class SqlitePlace implements Place {
  readonly #path: string;
  readonly #stores: SqlLeaseStore[] = [];
  #guarding: OpenStore | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  connect(): Promise<SqlLeaseStore> {
    return this.connectWith(systemClock);
  }

  connectWith(clock: Clock): Promise<SqlLeaseStore> {
    const store = new SqlLeaseStore({ sqlite: this.#path, clock });
    this.#stores.push(store);
    return Promise.resolve(store);
  }

  async pass(ms: number): Promise<void> {
    await delay(ms);
  }

  /** Another process locks the leases, for all the others: to them they are there, and cannot be read. */
  interrupt(): Promise<AsyncDisposable> {
    const leases = new DatabaseSync(this.#leasesPath);
    leases.exec("BEGIN EXCLUSIVE");
    return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve(leases.close()) });
  }

  async guard(): Promise<GuardedText> {
    inFile(this.#path, (documents) =>
      documents.exec("CREATE TABLE documents (name TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT"),
    );
    this.#guarding = await sqlite.open({ store: "sqlite", path: this.#path });
    return guardedText(this.#guarding);
  }

  async plant(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    await using store = new SqlLeaseStore({ sqlite: this.#path });
    await store.migrate();
    const version = what === "foreign" ? null : 2;
    this.#inLeases((leases) =>
      leases
        .prepare(
          "INSERT INTO leasehold_leases (election, version, schema_version, value) VALUES (?, 'theirs', ?, 'do not touch')",
        )
        .run(election, version),
    );
  }

  dig(election: string): Promise<unknown> {
    const lease = this.#inLeases((leases) => leases.prepare("SELECT * FROM leasehold_leases WHERE election = ?").get(election));
    const fence = inFile(this.#path, (fences) =>
      fences.prepare("SELECT * FROM leasehold_fences WHERE election = ?").get(election),
    );
    return Promise.resolve(lease && { lease, fence });
  }

  remove(election: string): Promise<void> {
    this.#inLeases((leases) => leases.prepare("DELETE FROM leasehold_leases WHERE election = ?").run(election));
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guarding?.close();
    for (const store of this.#stores) await store.close();
  }

  get #leasesPath(): string {
    return `${this.#path}-leasehold`;
  }

  #inLeases<T>(act: (leases: DatabaseSync) => T): T {
    return inFile(this.#leasesPath, act);
  }
}
