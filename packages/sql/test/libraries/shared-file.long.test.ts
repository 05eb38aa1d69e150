/**
 * An application that uses better-sqlite3, and gives Leasehold its handle. For a minute (LEASEHOLD_SHARED_FILE_MINUTES for longer) it
 * writes, checks points in, makes backups and opens the file again, in an order drawn by LEASEHOLD_SHARED_FILE_SEED. Another process uses
 * the same file by `node:sqlite`. Every row has to be in place, and the file intact.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import BetterSqlite from "better-sqlite3";
import { isFenced, SqlLeaseStore } from "@leasehold/sql";
import type { Lease } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { acquiring } from "@leasehold/test-kit/acquisitions";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { nodeExecutable } from "@leasehold/test-kit/processes/owned-process";

const MINUTES = Number(process.env["LEASEHOLD_SHARED_FILE_MINUTES"] ?? 1);
const SEED = Number(process.env["LEASEHOLD_SHARED_FILE_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const TIMEOUT_MS = 60_000;

/** Returns numbers from 0 to below 1, all of them decided by the seed. */
function drawing(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The application: its handle, its store, and the rows that have to be there. */
class Application {
  readonly #path: string;
  readonly #rows = new Set<number>();
  #next = 1;
  #lease: Lease | undefined;
  #backups = 0;
  #openings = 1;
  database: BetterSqlite.Database;
  store: SqlLeaseStore;

  constructor(path: string) {
    this.#path = path;
    this.database = new BetterSqlite(path, { timeout: TIMEOUT_MS });
    this.database.pragma("journal_mode = WAL");
    this.database.exec("CREATE TABLE bills (number INTEGER PRIMARY KEY, filling TEXT)");
    this.store = new SqlLeaseStore({ sqlite: this.database });
  }

  /** The steps, each with how often it is drawn. */
  readonly steps: readonly (readonly [weight: number, step: () => Promise<void>])[] = [
    [30, async () => this.#write()],
    [5, async () => this.#rollBack()],
    [10, async () => this.#lead()],
    [20, async () => this.#writeFenced()],
    [5, async () => this.#give()],
    [3, async () => void this.database.pragma("wal_checkpoint(TRUNCATE)")],
    [1, async () => this.#backUp()],
    [1, async () => this.reopen()],
  ];

  #insert(number: number): void {
    this.database.prepare("INSERT INTO bills VALUES (?, ?)").run(number, "x".repeat(number % 3_000));
  }

  #write(): void {
    const numbers = [this.#next, this.#next + 1];
    this.#next += 2;
    this.database.transaction(() => {
      for (const number of numbers) this.#insert(number);
    })();
    for (const number of numbers) this.#rows.add(number);
  }

  #rollBack(): void {
    this.database.exec("BEGIN IMMEDIATE");
    this.#insert(this.#next);
    this.database.exec("ROLLBACK");
  }

  async #lead(): Promise<void> {
    if (this.#lease) {
      await this.store.renew(this.#lease, { timeoutMs: TIMEOUT_MS });
      return;
    }
    await this.store.read("bills");
    const outcome = await this.store.acquire(acquiring({ election: "bills", timeoutMs: TIMEOUT_MS }));
    expect(outcome.acquired).toBe(true);
    if (outcome.acquired) this.#lease = outcome.lease;
  }

  async #writeFenced(): Promise<void> {
    if (!this.#lease) return;
    const number = this.#next;
    this.#next += 1;
    await this.store.fencedTransaction(this.#lease, () => this.#insert(number));
    this.#rows.add(number);
  }

  /** Releases the lease, after which its fence refuses every write. */
  async #give(): Promise<void> {
    const lease = this.#lease;
    if (!lease) return;
    this.#lease = undefined;
    await this.store.release(lease, { timeoutMs: TIMEOUT_MS });
    const stale = await this.store.fencedTransaction(lease, () => this.#insert(this.#next)).catch((error: unknown) => error);
    expect(isFenced(stale)).toBe(true);
  }

  async #backUp(): Promise<void> {
    this.#backups += 1;
    const path = `${this.#path}-backup-${this.#backups}`;
    await this.database.backup(path);
    const copy = new BetterSqlite(path);
    this.#check(copy);
    copy.close();
    await rm(path);
  }

  async reopen(): Promise<void> {
    // A lease belongs to the store that won it.
    await this.#give();
    await this.store.close();
    this.database.close();
    this.database = new BetterSqlite(this.#path, { timeout: TIMEOUT_MS });
    this.store = new SqlLeaseStore({ sqlite: this.database });
    this.#openings += 1;
    this.#check(this.database);
  }

  /** Says what is in place. */
  toString(): string {
    return `${this.#rows.size} rows, ${this.#backups} backups, ${this.#openings} openings`;
  }

  #check(database: BetterSqlite.Database): void {
    expect(database.pragma("integrity_check")).toEqual([{ integrity_check: "ok" }]);
    const found = database
      .prepare<[], { number: number; length: number }>("SELECT number, length(filling) AS length FROM bills")
      .all();
    expect(found.filter(({ number, length }) => length !== number % 3_000)).toEqual([]);
    expect(new Set(found.map(({ number }) => number))).toEqual(this.#rows);
  }
}

test(
  `every row is in place after ${MINUTES} min of everything (seed ${SEED})`,
  { timeout: MINUTES * 60_000 + 600_000 },
  async () => {
    const folder = await memoryFolder("shared-file-");
    const path = join(folder, "app.db");
    const application = new Application(path);
    await application.store.migrate();
    const script = fileURLToPath(new URL("../sqlite-writer.ts", import.meta.url));
    const rival = fork(script, [path, "other"], { execPath: nodeExecutable(), execArgv: ["--conditions=@leasehold/source"] });
    try {
      await once(rival, "message");
      const draw = drawing(SEED);
      const weights = application.steps.reduce((sum, [weight]) => sum + weight, 0);
      const until = performance.now() + MINUTES * 60_000;
      let steps = 0;
      while (performance.now() < until || steps < 200) {
        let drawn = draw() * weights;
        const [, step] = application.steps.find(([weight]) => (drawn -= weight) < 0) ?? application.steps[0]!;
        await step();
        steps += 1;
      }
      expect(rival.exitCode).toBe(null);
      await application.reopen();
      await expect(application.store.read("other")).resolves.toMatchObject({ term: expect.any(Number) });
      console.info(`in place after ${steps} steps: ${String(application)}`);
    } finally {
      rival.kill("SIGKILL");
      await application.store.close();
      application.database.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  },
);
