/**
 * Hosts in processes of their own do the ticks of an interval, on SQLite, with the policies of schedules. Their clocks differ by
 * more than the period, and they are killed again and again, once all of them at the same time. Each run has another seed, which also
 * selects the overlap policy.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isoOf } from "@leasehold/core/provider";
import { occurrencesOf } from "@leasehold/core/occurrences";
import { SeededRandom } from "@leasehold/core/testing";
import { LineProcess } from "@leasehold/test-kit/processes/line-process";
import { openStore, testStore } from "@leasehold/test-kit/stores/stores";
import { describe, expect, test } from "vitest";
import { checkTick } from "./check-intervals.ts";
import type { IntervalLine, IntervalSettings } from "./interval-worker.ts";

const PERIOD_MS = 3_000;
/** The clock of one host is ahead of that of another by more than the period. */
const SKEWS_MS = [0, -900, 400, 3_300];
const MOST_KILLS = 16;
/** The storm ends after this many ticks at the latest, so that the rule of 100 ticks catches up with all of them. */
const MOST_TICKS = 40;
/** All hosts are killed at this one, and stay away for five ticks. */
const OUTAGE = 6;
/** A host dies when this many lines were said since the last death. */
const LINES_PER_DEATH = 3;
const LIMIT_MS = 300_000;
const seed = Number(process.env["LEASEHOLD_STORM_SEED"] ?? Math.floor(Math.random() * 2 ** 32));

/** The seed also selects the policy. */
const overlap = (["skip", "bufferOne", "cancelOther"] as const)[seed % 3];

type Policies = Omit<IntervalSettings["policies"], "periodMs" | "catchUp">;

class Hosts {
  readonly lines: IntervalLine[] = [];
  readonly #settings: Omit<IntervalSettings, "skewMs">;
  readonly #hosts: Array<LineProcess<IntervalLine>> = [];
  stderr = "";

  constructor(settings: Omit<IntervalSettings, "skewMs">) {
    this.#settings = settings;
  }

  start(place: number): void {
    const settings = { ...this.#settings, skewMs: SKEWS_MS[place] };
    const host: LineProcess<IntervalLine> = new LineProcess({
      program: new URL("./interval-worker.ts", import.meta.url),
      settings,
      onLine: (line) => void this.lines.push(line),
      onEnd: () => (this.stderr += host.stderr),
    });
    this.#hosts[place] = host;
  }

  async end(place: number, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#hosts[place]?.signal(signal);
    await this.#hosts[place]?.ended;
  }
}

/** Waits for a condition. The limit is generous, because no verdict depends on the time. */
async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + LIMIT_MS;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`After ${LIMIT_MS} ms: ${what}`);
    await delay(100);
  }
}

describe("a storm of hosts that do an interval", () => {
  test.for<[name: string, policies: Policies]>([
    ["tries each tick once on each host", {}],
    ["lets no two ticks overlap, and tries each three times", { overlap, tries: 3, backoffMs: 100 }],
  ])("that %s: no tick is lost, and none is done twice", { timeout: 4 * LIMIT_MS }, async ([_, more]) => {
    await using service = await (await testStore("sqlite")).start();
    const dice = new SeededRandom(seed);
    const name = `interval-${randomUUID()}`;
    const firstMs = Math.ceil(Date.now() / PERIOD_MS) * PERIOD_MS;
    const catchUp = { atMost: 100, since: isoOf(firstMs) };
    const policies = { ...more, periodMs: PERIOD_MS, catchUp };
    const hosts = new Hosts({ store: service.settings, name, policies, longestWorkMs: 600 });
    const places = [...SKEWS_MS.keys()];
    for (const place of places) hosts.start(place);
    for (let kill = 0; kill < MOST_KILLS && Date.now() < firstMs + MOST_TICKS * PERIOD_MS; kill += 1) {
      const before = hosts.lines.length;
      await until("the hosts do nothing", () => {
        expect(hosts.stderr).toBe("");
        return hosts.lines.length >= before + LINES_PER_DEATH;
      });
      const dying = kill === OUTAGE ? places : [dice.pick(places)];
      await Promise.all(dying.map(async (place) => await hosts.end(place, "SIGKILL")));
      if (kill === OUTAGE) await delay(5 * PERIOD_MS);
      for (const place of dying) hosts.start(place);
    }
    // Ticks that a host ahead of the others has begun may come later than this one.
    const lastMs = Math.floor(Date.now() / PERIOD_MS) * PERIOD_MS;
    const ids = Array.from(
      { length: (lastMs - firstMs) / PERIOD_MS + 1 },
      (_each, tick) => `${name}@${isoOf(firstMs + tick * PERIOD_MS)}`,
    );

    const { store, close } = await openStore(service.settings);
    const occurrences = occurrencesOf(store, name, 86_400_000, "this test");
    const open = new Set(ids);
    await until(`ticks are open, with seed ${seed}`, async () => {
      for (const id of open) if ((await occurrences.read(id, { timeoutMs: LIMIT_MS }))?.bar?.kind === "done") open.delete(id);
      return open.size === 0;
    });
    await Promise.all(places.map(async (place) => await hosts.end(place, "SIGTERM")));
    const records = await Promise.all(ids.map(async (id) => await occurrences.read(id, { timeoutMs: LIMIT_MS })));
    await close();

    const problems = ids.flatMap((id, tick) => checkTick(id, records[tick], hosts.lines));
    if (problems.length > 0) expect.fail(`Seed ${seed}:\n${problems.join("\n")}\n${hosts.stderr}`);
    expect(hosts.stderr).toBe("");
    const outcomes = new Set(hosts.lines.flatMap((line) => (line.event === "outcome" ? [line.outcome] : [])));
    expect(outcomes).toContain("done");
  });
});
