import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { MemoryRecordStore } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { programMissing, programPath, PROMTOOL } from "@leasehold/test-kit/backends/programs";
import { describe, expect, onTestFinished, test } from "vitest";
import { Connection } from "./polled-store.ts";
import { Sidecar } from "./sidecar.ts";

const RULES = fileURLToPath(new URL("../monitoring/leasehold.rules.yml", import.meta.url));
const RULES_TEST = fileURLToPath(new URL("monitoring/leasehold.rules.test.yml", import.meta.url));
const BOARD = new URL("../monitoring/grafana-dashboard.json", import.meta.url);

interface Board {
  readonly panels: ReadonlyArray<{ readonly title: string; readonly targets: ReadonlyArray<{ readonly expr: string }> }>;
}

/** Runs promtool. Returns its exit code and its output. */
async function promtool(args: readonly string[], input = ""): Promise<readonly [code: number | null, said: string]> {
  const child = spawn(await programPath(PROMTOOL), args, { stdio: "pipe" });
  child.stdin.end(input);
  const [said, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return [code, said + errors];
}

/** The metrics of a leader that has lost and won its lease, and has overrun. So every family has a series. */
async function metrics(): Promise<string> {
  const clock = new VirtualClock();
  const connection = new Connection(new MemoryRecordStore(clock));
  const work: Array<() => void> = [];
  const options = { drainTimeoutMs: 1_000 };
  await using a = await new Sidecar("a", connection.store(clock), clock, ['odd "name"\\ é'], options).start(
    undefined,
    () => new Promise((resolve) => void work.push(() => resolve(undefined))),
  );
  await clock.advance(10_000);
  connection.isCut = true;
  await clock.advance(30_000);
  connection.isCut = false;
  for (const end of work) end();
  await clock.advance(60_000);
  const { body } = await a.ask("/metrics");
  for (const end of work) end();
  return body;
}

describe.skipIf(await isMissing(programMissing(PROMTOOL)))("Prometheus' own tools", () => {
  test("accept /metrics without a warning", async () => {
    expect(await promtool(["check", "metrics"], await metrics())).toEqual([0, ""]);
  });

  test("accept the alert rules, which alert in the right cases", async () => {
    expect((await promtool(["check", "rules", RULES]))[1]).toContain("SUCCESS: 5 rules found");
    expect(await promtool(["test", "rules", RULES_TEST])).toEqual([0, expect.stringContaining("SUCCESS")]);
  });

  test("accept the expressions of the board", async () => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-board-"));
    onTestFinished(async () => await rm(folder, { recursive: true }));
    const rules = (await boardExpressions()).map((expr, at) => ({
      record: `panel:${at}`,
      expr: expr.replaceAll("$election", ".*"),
    }));
    // YAML includes JSON.
    await writeFile(join(folder, "board.yml"), JSON.stringify({ groups: [{ name: "board", rules }] }));
    expect(await promtool(["check", "rules", join(folder, "board.yml")])).toEqual([
      0,
      expect.stringContaining(`${rules.length} rules found`),
    ]);
  });
});

test("/metrics has every metric that the rules and the board use", async () => {
  const body = await metrics();
  const asked = `${await readFile(RULES, "utf8")}${(await boardExpressions()).join("\n")}`.matchAll(/\bleasehold_[a-z_]+/g);
  const names = new Set([...asked].map(([name]) => name));
  expect(names.size).toBeGreaterThan(8);
  expect([...names].filter((name) => !new RegExp(`^(# TYPE )?${name}[{ ]`, "m").test(body))).toEqual([]);
});

async function boardExpressions(): Promise<readonly string[]> {
  const { panels } = JSON.parse(await readFile(BOARD, "utf8")) as Board;
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}
