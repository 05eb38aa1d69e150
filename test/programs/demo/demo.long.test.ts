import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { COMPILE_CACHE } from "@leasehold/test-kit/processes/owned-process";
import { reachesState } from "@leasehold/test-kit/processes/process-state";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { isEvent, type DemoEvent } from "./demo-event.ts";

/** Ten times the duration of the longest demo, and more than the demo's own limit. */
const LIMITS = { timeout: 660_000 };
const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

test("the demo shows its story on SQLite, and leaves no process and no file behind", LIMITS, async () => {
  const folder = await freshFolder();
  const events = await expectStory("SQLite", start(["--json", "--out", join(folder, "new", "timeline.svg")], { TMPDIR: folder }));
  const picture = await readFile(join(folder, "new", "timeline.svg"), "utf8");
  expect(picture).toMatch(/^<svg[^]*SIGKILL[^]*late write refused[^]*<\/svg>$/);
  expect(picture).toContain("a lease of 2 s on SQLite");
  expect(await readdir(folder)).toEqual(["new"]);
  await everyWorkerIsGone(events);
});

const voting = await testStore("voting");
test.skipIf(await isMissing(voting.missing()))(
  "on servers that vote, it shows the same story, and one that is cut off",
  LIMITS,
  async () => {
    const picture = join(await freshFolder(), "timeline.svg");
    const events = await expectStory(voting.title, start(["--json", "--store", "voting", "--out", picture]));
    expect(await readFile(picture, "utf8")).toContain(`s on ${voting.title}`);
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(["cut-off", "rejoined"]));
    await everyWorkerIsGone(events);
  },
);

test("Ctrl-C at the beginning ends the demo and all its processes", async () => await interrupts("demo", "sqlite"));

// A quorum has a process for each of its stores. The kit's tests end the service of each other store with its owner.
test("Ctrl-C while a leader works ends the demo and all its processes", async () => await interrupts("wrote", "quorum"));

/** Ends a demo right after its first event of that name. */
async function interrupts(name: DemoEvent["event"], store: StoreName): Promise<void> {
  const folder = await freshFolder();
  const demo = start(["--json", "--store", store], { TMPDIR: folder });
  const events: DemoEvent[] = [];
  for await (const event of demo.events()) {
    // The signal goes to the whole process group, as from a terminal, and twice, as impatient people press it.
    const first = event.event === name && !events.some((earlier) => earlier.event === name);
    for (let times = 0; first && times < 2; times += 1) process.kill(-demo.child.pid!, "SIGINT");
    events.push(event);
  }
  expect(await demo.ended).toEqual({ code: 130, stderr: "The demo was ended by SIGINT.\n" });
  expect(await readdir(folder)).toEqual([]);
  await everyWorkerIsGone(events);
}

test("the demo ends when the reader of its output has left", async () => {
  const demo = start(["--json"]);
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
  [["--store", "mongodb"], "mongodb"],
  [["--fleet", "--json"], "--fleet"],
])("%j is refused before anything starts", async (args, named) => {
  const { code, stderr } = await start(args).ended;
  expect(code).toBe(2);
  expect(stderr).toContain(named);
  expect(stderr).toContain("Usage: npm run demo");
});

test("without the store's server, the demo says what to install", async () => {
  const { code, stderr } = await start(["--store", "dynamodb"], { PATH: "/nonexistent" }).ended;
  expect(code).toBe(2);
  expect(stderr).toMatch(/^The demo cannot run on 'dynamodb' here\. moto is not installed: .*pip install.*\n$/);
});

/** Runs a demo of workers to its end, and expects every part of the story. */
async function expectStory(title: string, demo: RunningDemo): Promise<readonly DemoEvent[]> {
  const events = await expectEnd(title, demo);
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
  return events;
}

/** Runs a demo to its end, and expects that every expectation held. */
async function expectEnd(title: string, demo: RunningDemo): Promise<readonly DemoEvent[]> {
  const events: DemoEvent[] = [];
  for await (const event of demo.events()) events.push(event);
  expect(events[0]).toMatchObject({ event: "demo", store: title });
  const { overlapMs, expectations } = events.find((event) => isEvent(event, "summary")) ?? {};
  const failed = expectations?.filter(({ held }) => !held);
  // The message names the difference too, because some reports leave it out.
  const found = { ...(await demo.ended), overlapMs, failed };
  expect(found, JSON.stringify(found)).toEqual({ code: 0, stderr: "", overlapMs: 0, failed: [] });
  expect(events.at(-1)?.event).toBe("summary");
  for (const { at, candidate, term } of events) {
    expect(at).toBeTypeOf("number");
    expect(candidate === null || typeof candidate === "string").toBe(true);
    expect(term === null || Number.isInteger(term)).toBe(true);
  }
  return events;
}

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-demo-"));
  // PostgreSQL's server may run as another user.
  await chmod(folder, 0o755);
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

interface RunningDemo {
  readonly child: ChildProcess;
  /** Settles when the process has ended, and every process that holds its output. */
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
  events(): AsyncIterable<DemoEvent>;
}

function start(args: readonly string[], variables: NodeJS.ProcessEnv = {}): RunningDemo {
  const { NODE_OPTIONS: _, ...env }: NodeJS.ProcessEnv = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...variables };
  const child = spawn(process.execPath, ["--conditions=@leasehold/source", PROGRAM, ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    // The demo has a process group of its own, as in a terminal.
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

async function everyWorkerIsGone(events: readonly DemoEvent[]): Promise<void> {
  const pids = events.filter((event) => isEvent(event, "spawned")).map(({ pid }) => pid);
  await Promise.all(pids.map((pid) => reachesState(pid, "gone")));
}
