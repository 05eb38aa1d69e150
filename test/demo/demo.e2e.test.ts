import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { reachesState } from "../backends/process-state.ts";
import { isEvent, type DemoEvent } from "./demo-event.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

test(
  "the demo shows every takeover and the refused write, draws it, and leaves nothing behind",
  { timeout: 150_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-demo-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const picture = join(folder, "new", "timeline.svg");
    const demo = start("--json", "--out", picture);
    const events = await eventsUntilEnd(demo);

    const summary = events.at(-1)!;
    expect(isEvent(summary, "summary") && summary.expectations.filter(({ held }) => !held)).toEqual([]);
    expect(isEvent(summary, "summary") && summary.overlapMs).toBe(0);
    expect(await demo.ended).toEqual({ code: 0, stderr: "" });
    const names = new Set(events.map(({ event }) => event));
    for (const name of [
      "standby",
      "started-leading",
      "stopped-leading",
      "killed",
      "terminated",
      "paused",
      "resumed",
      "fenced-write-refused",
    ] as const) {
      expect(names).toContain(name);
    }
    for (const { at, candidate, term } of events) {
      expect(at).toBeTypeOf("number");
      expect(candidate === null || typeof candidate === "string").toBe(true);
      expect(term === null || Number.isInteger(term)).toBe(true);
    }
    expect(await readFile(picture, "utf8")).toMatch(/^<svg[^]*SIGKILL[^]*late write refused[^]*<\/svg>$/);
    await everyWorkerIsGone(events);
  },
);

test.each(["demo", "wrote"] as const)("Ctrl-C right after '%s' ends the demo and all its processes", async (name) => {
  const demo = start("--json");
  const events: DemoEvent[] = [];
  for await (const event of demo.events()) {
    // To the whole process group, as a terminal does; twice, as people do.
    const first = event.event === name && !events.some((earlier) => earlier.event === name);
    for (let times = 0; first && times < 2; times += 1) process.kill(-demo.child.pid!, "SIGINT");
    events.push(event);
  }
  expect(await demo.ended).toEqual({ code: 130, stderr: "The demo was ended by SIGINT.\n" });
  await everyWorkerIsGone(events);
});

test("the demo ends when nobody reads its output any more", async () => {
  const demo = start("--json");
  const events: DemoEvent[] = [];
  for await (const event of demo.events()) {
    events.push(event);
    if (event.event === "started-leading") break;
  }
  demo.child.stdout?.destroy();
  expect((await demo.ended).code).toBe(1);
  await everyWorkerIsGone(events);
});

test.each([
  [["--jsn"], "--jsn"],
  [["--out"], "--out"],
  [["--out", ""], "--out"],
  [["picture.svg"], "picture.svg"],
])("%j is refused before anything starts", async (args, named) => {
  const { code, stderr } = await start(...args).ended;
  expect(code).toBe(2);
  expect(stderr).toContain(named);
  expect(stderr).toContain("Usage: npm run demo");
});

interface RunningDemo {
  readonly child: ChildProcess;
  /** Settles when the process and all that holds its output have ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
  events(): AsyncIterable<DemoEvent>;
}

function start(...args: readonly string[]): RunningDemo {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const child = spawn(process.execPath, ["--conditions=@leasehold/source", PROGRAM, ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own, as in a terminal.
    detached: true,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, stderr }));
  return {
    child,
    ended,
    async *events() {
      for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line) as DemoEvent;
    },
  };
}

async function eventsUntilEnd(demo: RunningDemo): Promise<DemoEvent[]> {
  const events: DemoEvent[] = [];
  for await (const event of demo.events()) events.push(event);
  return events;
}

async function everyWorkerIsGone(events: readonly DemoEvent[]): Promise<void> {
  const pids = events.filter((event) => isEvent(event, "spawned")).map(({ pid }) => pid);
  await Promise.all(pids.map((pid) => reachesState(pid, "gone")));
}
