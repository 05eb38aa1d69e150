import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import type { Place } from "@leasehold/conformance";
import { SqlLeaseStore } from "@leasehold/sql";
import { afterAll, beforeAll } from "vitest";
import { runConformance } from "./run-conformance.ts";

const NO_NETWORK = "nothing lies between a store and its files, which it uses without waiting";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "conformance-sqlite-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

runConformance(
  {
    name: "sqlite",
    leaseMs: 3_000,
    requests: { acquire: 1, renew: 1, release: 1, look: 1 },
    lacks: { faults: NO_NETWORK, duplicates: NO_NETWORK, watch: "SQLite cannot push" },
    open: () => Promise.resolve(new SqlitePlace(join(folder, `${randomUUID()}.db`))),
  },
  { concurrently: true },
);

/** Two files of its own, which each store opens for itself. */
class SqlitePlace implements Place {
  readonly #path: string;
  readonly #stores: SqlLeaseStore[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  connect(): Promise<SqlLeaseStore> {
    const store = new SqlLeaseStore({ sqlite: this.#path });
    this.#stores.push(store);
    return Promise.resolve(store);
  }

  async pass(ms: number): Promise<void> {
    await delay(ms);
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
    using fences = new DatabaseSync(this.#path);
    const fence = fences.prepare("SELECT * FROM leasehold_fences WHERE election = ?").get(election);
    return Promise.resolve(lease && { lease, fence });
  }

  remove(election: string): Promise<void> {
    this.#inLeases((leases) => leases.prepare("DELETE FROM leasehold_leases WHERE election = ?").run(election));
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.#stores) await store.close();
  }

  #inLeases<T>(act: (leases: DatabaseSync) => T): T {
    using leases = new DatabaseSync(`${this.#path}-leasehold`);
    return act(leases);
  }
}
