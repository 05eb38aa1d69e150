import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { reachesState } from "@leasehold/test-kit/processes/process-state";
import { isEvent, type DemoEvent } from "./demo-event.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

/** Runs a demo to its end, and expects everything to be in it. */
export async function expectStory(title: string, demo: RunningDemo): Promise<readonly DemoEvent[]> {
  const events: DemoEvent[] = [];
  for await (const event of demo.events()) events.push(event);
  expect(events[0]).toMatchObject({ event: "demo", store: title });
  const { overlapMs, expectations } = events.find((event) => isEvent(event, "summary")) ?? {};
  const failed = expectations?.filter(({ held }) => !held);
  expect({ ...(await demo.ended), overlapMs, failed }).toEqual({ code: 0, stderr: "", overlapMs: 0, failed: [] });
  expect(events.at(-1)?.event).toBe("summary");
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
  return events;
}

export async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-demo-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

export interface RunningDemo {
  readonly child: ChildProcess;
  /** Settles when the process and all that holds its output have ended. */
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
  events(): AsyncIterable<DemoEvent>;
}

export function start(args: readonly string[], variables: NodeJS.ProcessEnv = {}): RunningDemo {
  const { NODE_OPTIONS: _, ...env } = { ...process.env, ...variables };
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

export async function everyWorkerIsGone(events: readonly DemoEvent[]): Promise<void> {
  const pids = events.filter((event) => isEvent(event, "spawned")).map(({ pid }) => pid);
  await Promise.all(pids.map((pid) => reachesState(pid, "gone")));
}
