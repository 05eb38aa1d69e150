import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { SeededRandom } from "@leasehold/core/testing";
import { readFleet } from "@leasehold/fleet";
import { SqlLeaseStore } from "@leasehold/sql";
import { expect, onTestFinished, test } from "vitest";

const WORKER = fileURLToPath(new URL("worker.ts", import.meta.url));
const MEMBERS = 5;
/** `LEASEHOLD_FLEET_ROUNDS=100` plays longer. */
const ROUNDS = Number(process.env["LEASEHOLD_FLEET_ROUNDS"] ?? 14);
const SEED = Number(process.env["LEASEHOLD_FLEET_SEED"] ?? Math.floor(Math.random() * 1e9));

interface Line {
  readonly began?: string;
  readonly wrote?: string;
  readonly refused?: string;
  readonly worked?: string;
  readonly term: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Starts, kills, freezes and stops the processes of a fleet, by a seed. */
class Chaos {
  readonly #folder: string;
  readonly #random = new SeededRandom(SEED);
  readonly #living: ChildProcess[] = [];
  readonly file: string;
  faults = 0;
  #made = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.file = join(folder, "fleet.db");
  }

  start(): void {
    this.#made += 1;
    const name = `m${this.#made}`;
    const flags = ["--disable-warning=ExperimentalWarning", "--conditions=@leasehold/source"];
    const child = spawn(process.execPath, [...flags, WORKER, this.file, name, join(this.#folder, `${name}.log`)], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    this.#living.push(child);
  }

  async round(): Promise<void> {
    const random = this.#random;
    await wait(random.between(500, 5_000));
    const one = random.pick(this.#living);
    this.faults += 1;
    const dice = random.next();
    if (dice < 0.35) await this.#end(one, "SIGKILL");
    else if (dice < 0.5) await this.#end(one, "SIGTERM");
    else if (dice < 0.9) {
      one.kill("SIGSTOP");
      await wait(random.between(1_000, 14_000));
      one.kill("SIGCONT");
    } else {
      // The store is away: this transaction keeps all others out.
      const database = new DatabaseSync(this.file, { timeout: 10_000 });
      database.exec("BEGIN IMMEDIATE");
      await wait(random.between(1_000, 9_000));
      database.exec("ROLLBACK");
      database.close();
    }
    while (this.#living.length < MEMBERS) this.start();
  }

  async #end(one: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    this.#living.splice(this.#living.indexOf(one), 1);
    const exited = once(one, "exit");
    one.kill(signal);
    if (signal === "SIGKILL") await exited;
  }

  async killAll(): Promise<void> {
    for (const child of this.#living.splice(0)) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
  }

  /** The lines of all processes, each as far as it is whole. */
  async lines(): Promise<Line[]> {
    const logs = (await readdir(this.#folder)).filter((name) => name.endsWith(".log"));
    const texts = await Promise.all(logs.map((name) => readFile(join(this.#folder, name), "utf8")));
    return texts.flatMap((text) => text.split("\n").filter((line) => line.endsWith("}"))).map((line) => JSON.parse(line) as Line);
  }
}

test(
  `no shard is worked on twice at a time, and guarded totals are exact, while processes on SQLite are killed, frozen and stopped (seed ${SEED})`,
  {
    timeout: 1_800_000,
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-fleet-"));
    const chaos = new Chaos(folder);
    onTestFinished(async () => {
      await chaos.killAll();
      await rm(folder, { recursive: true, force: true });
    });
    const database = new DatabaseSync(chaos.file, { timeout: 30_000 });
    database.exec(
      "PRAGMA journal_mode = WAL; CREATE TABLE ledger (id INTEGER PRIMARY KEY, shard TEXT, term INTEGER, member TEXT)",
    );
    for (let left = MEMBERS; left > 0; left -= 1) chaos.start();
    const begun = async (): Promise<number> => new Set((await chaos.lines()).map(({ began }) => began).filter(Boolean)).size;
    await expect.poll(begun, { timeout: 300_000 }).toBe(12);
    for (let left = ROUNDS; left > 0; left -= 1) await chaos.round();

    // In the calm every shard is held again.
    await using store = new SqlLeaseStore({ sqlite: chaos.file });
    await expect
      .poll(async () => (await readFleet(store, "chaos")).shards.filter(({ state }) => state === "held").length, {
        timeout: 200_000,
      })
      .toBe(12);
    const working = async (): Promise<number> => (await chaos.lines()).filter(({ worked }) => worked !== undefined).length;
    const before = await working();
    await expect.poll(working, { timeout: 200_000 }).toBeGreaterThan(before);
    await chaos.killAll();

    const lines = await chaos.lines();
    const worked = lines.filter((line) => line.worked !== undefined).toSorted((a, b) => a.fromMs - b.fromMs);
    const last = new Map<string, Line>();
    const overlaps: string[] = [];
    for (const line of worked) {
      const former = last.get(line.worked!);
      if (former && former.term !== line.term && former.untilMs > line.fromMs)
        overlaps.push(`${JSON.stringify(former)} and ${JSON.stringify(line)}`);
      if (!former || former.untilMs < line.untilMs) last.set(line.worked!, line);
    }
    const rows = database.prepare("SELECT shard, term FROM ledger ORDER BY id").all() as Array<{ shard: string; term: number }>;
    const stale = rows.filter(({ shard, term }, index) =>
      rows.slice(0, index).some((row) => row.shard === shard && row.term > term),
    );
    database.close();
    const wrote = lines.filter((line) => line.wrote !== undefined).length;
    const starts = lines.filter((line) => line.began !== undefined);
    console.log(
      `${chaos.faults} faults, ${starts.length} starts of shards, ${wrote} guarded writes, ${lines.filter((line) => line.refused).length} refused`,
    );

    expect(overlaps).toEqual([]);
    expect(stale).toEqual([]);
    // Every confirmed write is there. A process that was killed may not have noted its last one.
    expect(rows.length).toBeGreaterThanOrEqual(wrote);
    expect(rows.length - wrote).toBeLessThanOrEqual(chaos.faults + MEMBERS);
    expect(new Set(starts.map(({ began, term }) => `${began}@${term}`)).size).toBe(starts.length);
    expect(starts.length).toBeGreaterThan(12);
  },
);
