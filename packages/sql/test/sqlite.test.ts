import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ConfigurationError, Elector } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
import { expect } from "vitest";
import { nodeArguments, nodeExecutable, OwnedProcess } from "@leasehold/test-kit/processes/owned-process";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { openFile } from "@leasehold/test-kit/stores/sqlite-file";
import { describeDatabases, type SqlWorld } from "./sql-world.ts";
import { disagreement } from "./two-rows.ts";

interface Won {
  readonly candidateId: string;
  readonly term: number;
}

/** Processes that compete for the world's election, and the winner of each term. */
class Candidates {
  readonly won: Won[] = [];
  readonly #world: SqlWorld;
  readonly #processes = new Map<string, OwnedProcess>();

  constructor(world: SqlWorld) {
    this.#world = world;
    world.onEnd(() => this.end());
  }

  async start(candidateId: string, resignsMs = 0): Promise<void> {
    const script = fileURLToPath(new URL("./sqlite-candidate.ts", import.meta.url));
    const args = nodeArguments(script, [this.#world.place, this.#world.election, candidateId, String(resignsMs)]);
    const candidate = new OwnedProcess({ name: candidateId, command: nodeExecutable(), args });
    candidate.onMessage((message) => {
      if (typeof message === "object") this.won.push(message as Won);
    });
    this.#processes.set(candidateId, candidate);
    await candidate.firstMessage();
  }

  /** Kills a candidate with SIGKILL. */
  async kill(candidateId: string): Promise<void> {
    await this.#processes.get(candidateId)?.end();
  }

  async end(): Promise<void> {
    await Promise.all([...this.#processes.values()].map((candidate) => candidate.end()));
  }
}

function prepared(world: SqlWorld, journal: string): DatabaseSync {
  const database = openFile(world.place, 5_000);
  database.exec(`PRAGMA journal_mode = ${journal}`);
  database.exec("CREATE TABLE IF NOT EXISTS writes (id INTEGER PRIMARY KEY AUTOINCREMENT, term INTEGER, who TEXT)");
  world.onEnd(async () => database.close());
  return database;
}

await describeDatabases(["sqlite"], (test) => {
  test.concurrent.for(["DELETE", "WAL"])(
    "of four processes one leads at a time, with the user's data in a file in %s mode",
    { timeout: 600_000 },
    async (journal, { world, expect: expectHere }) => {
      const database = prepared(world, journal);
      const candidates = new Candidates(world);
      await Promise.all(["a", "b", "c", "d"].map((name) => candidates.start(name)));
      const killed: string[] = [];
      // If the machine stalls, a term may end before its leader is killed. The next leader is killed then.
      const leader = (): Won | undefined => candidates.won.findLast(({ candidateId }) => !killed.includes(candidateId));
      let lastTerm = 0;
      while (killed.length < 2) {
        await expectHere.poll(() => leader()?.term).toBeGreaterThan(lastTerm);
        const count = (): unknown => database.prepare("SELECT COUNT(*) AS n FROM writes").get()?.["n"];
        const before = Number(count());
        await expectHere.poll(count).toBeGreaterThan(before + 5);
        const victim = leader()!;
        await candidates.kill(victim.candidateId);
        killed.push(victim.candidateId);
        lastTerm = Math.max(...candidates.won.map((won) => won.term));
      }
      await expectHere.poll(() => leader()?.term).toBeGreaterThan(lastTerm);
      await candidates.end();
      // No two candidates won the same term.
      const won = candidates.won.map((one) => one.term);
      expectHere(new Set(won).size).toBe(won.length);
      // The guarded writes are in the order of terms, and each term has one writer.
      const rows = database.prepare("SELECT term, who FROM writes ORDER BY id").all();
      const terms = rows.map(({ term }) => Number(term));
      expectHere(terms).toEqual(terms.toSorted((x, y) => x - y));
      for (const { term, candidateId } of candidates.won) {
        expectHere(rows.filter((row) => row["term"] === term).every(({ who }) => who === candidateId)).toBe(true);
      }
      expectHere(journal).toBe(String(database.prepare("PRAGMA journal_mode").get()?.["journal_mode"]).toUpperCase());
    },
  );

  test.concurrent.for(["DELETE", "WAL"])(
    "a writer that is killed at any moment blocks no candidate, and opens the fence to none, in %s mode",
    { timeout: 600_000 },
    async (journal, { world, expect: expectHere }) => {
      prepared(world, journal);
      const script = fileURLToPath(new URL("./sqlite-writer.ts", import.meta.url));
      const terms: number[] = [];
      for (let round = 0; round < 5; round += 1) {
        const args = nodeArguments(script, [world.place, world.election]);
        const writer = new OwnedProcess({ name: `writer ${round}`, command: nodeExecutable(), args });
        world.onEnd(() => writer.end());
        await writer.firstMessage();
        await delay(50 + 50 * Math.random());
        await writer.end();

        // The next process that opens the files undoes or completes the operation that was under way.
        const store = world.store();
        await store.read(world.election);
        const difference = await disagreement(world);
        const [lease = 0, fence = 0] = difference?.match(/\b\d+(?=:)/g)?.map(Number) ?? [];
        // The fence is never ahead. It may be behind by one acquisition or one break.
        expectHere(fence - lease, difference).toBeLessThanOrEqual(0);
        expectHere(lease - fence, difference).toBeLessThanOrEqual(1);
        await store.break(world.election, { reason: "r", immediate: true });
        const won = await world.win(store);
        terms.push(won.term);
        const session = await world.session();
        await session.run("BEGIN");
        await store.fence(won, session.connection);
        await session.run("COMMIT");
        expectHere(await disagreement(world)).toBeUndefined();
        await store.release(won, LIMITS);
      }
      expectHere(terms).toEqual(terms.toSorted((x, y) => x - y));
      expectHere(new Set(terms).size).toBe(terms.length);
    },
  );

  test("the fence is locked in WAL mode too, where readers lock nothing", async ({ world }) => {
    const database = prepared(world, "WAL");
    const store = world.store();
    const lease = await world.win(store);
    database.exec("BEGIN");
    await store.fence(lease, database);
    await expect(store.release(lease, { timeoutMs: 150 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    database.prepare("INSERT INTO writes (term, who) VALUES (?, ?)").run(lease.term, "guarded");
    database.exec("COMMIT");
    await expect(store.release(lease, LIMITS)).resolves.toBe("released");
  });

  test("two stores of one process share a file, and the user's tables are in it", async ({ world }) => {
    const database = prepared(world, "DELETE");
    const [first, second] = [world.store(), world.store()];
    const lease = await world.win(first);
    await expect(second.acquire(world.acquiring())).resolves.toMatchObject({ acquired: false });
    await first.release(lease, LIMITS);
    await second.read(world.election);
    await expect(world.win(second)).resolves.toMatchObject({ term: 2 });
    const names = database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
      .all();
    expect(names.map(({ name }) => name)).toEqual(["leasehold_fences", "leasehold_guards", "writes"]);
  });

  test("the event loop is free while another process holds the lock, and the call ends in time", async ({ world }) => {
    const store = world.store();
    const lease = await world.win(store);
    const other = await world.session();
    await other.run("BEGIN IMMEDIATE");
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 5);
    await expect(store.release(lease, { timeoutMs: 500 })).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    clearInterval(ticking);
    // A blocking wait would leave no ticks, even on an idle machine.
    expect(ticks).toBeGreaterThan(3);
    // Reads and renewals do not need that lock.
    await expect(store.read(world.election)).resolves.toMatchObject({ term: 1 });
    await other.run("ROLLBACK");
    await delay(50);
    expect(await world.fenceRow()).toMatchObject({ term_id: lease.termId });
    await expect(store.release(lease, LIMITS)).resolves.toBe("released");
  });

  test("occurrences are claimed and completed while a transaction of the user's locks the data", async ({ world }) => {
    const database = prepared(world, "DELETE");
    await world.store().migrate();
    database.exec("BEGIN EXCLUSIVE");
    const occurrences = world.store().occurrences(world.election, { retentionMs: 60_000 });
    // Opening the files reads both. Later calls need only the file of the leases.
    const opening = occurrences.read("tick");
    await delay(50);
    database.exec("COMMIT");
    await opening;
    database.exec("BEGIN EXCLUSIVE");
    const claim = await world.win(occurrences, { election: "tick" });
    await expect(occurrences.complete(claim, LIMITS)).resolves.toBe("released");
    database.exec("ROLLBACK");
  });

  test("the constructor refuses a path that processes cannot share", () => {
    for (const sqlite of ["", ":memory:", "file::memory:?cache=shared", "file:a.db", null, 5, {}]) {
      expect(() => new SqlLeaseStore({ sqlite: sqlite as string })).toThrow(ConfigurationError);
    }
  });

  test("a missing folder and a file that is not a database are errors that say so", async ({ world }) => {
    const nowhere = world.store(join(world.place, "no", "folder.db"));
    await expect(nowhere.read(world.election)).rejects.toMatchObject({ code: "STORE_MISSING", mayHaveBeenApplied: false });
    const file = `${world.place}.txt`;
    await writeFile(file, "This is no database, and is long enough to be told from one.".repeat(50));
    await expect(world.store(file).acquire(world.acquiring())).rejects.toMatchObject({
      code: "STORE_REJECTED",
      mayHaveBeenApplied: false,
    });
  });

  // Root may write anywhere.
  if (process.getuid?.() !== 0)
    test("a folder that cannot be written to is denied", async ({ world }) => {
      const folder = await mkdtemp(join(tmpdir(), "sqltest-"));
      world.onEnd(() => rm(folder, { recursive: true, force: true }));
      await chmod(folder, 0o500);
      const error = await failureOf(world.store(join(folder, "a.db")).acquire(world.acquiring()));
      expect(["STORE_DENIED", "STORE_MISSING"]).toContain(error["code"]);
    });

  test("it needs no migration, and can be closed and used again by another", async ({ world }) => {
    {
      await using store = new SqlLeaseStore({ sqlite: world.place });
      const elector = new Elector({ store, election: world.election });
      await expect(elector.tryRun(() => "done")).resolves.toMatchObject({ elected: true, result: "done" });
    }
    await expect(world.store().read(world.election)).resolves.toMatchObject({ state: "vacant", term: 1 });
  });
});
