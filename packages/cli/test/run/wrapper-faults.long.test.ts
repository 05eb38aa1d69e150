/** If the wrapper, its guard, or both are killed, frozen or faulty, no process of the command outlives the lease. */
import { setTimeout as delay } from "node:timers/promises";
import { timing } from "@leasehold/core";
import { childrenOf, commandLineOf, signalAll } from "@leasehold/test-kit/processes/process-tree";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing } from "@leasehold/test-kit/backends/postgres";
import { testStore } from "@leasehold/test-kit/stores/stores";
import type { TestStore } from "@leasehold/test-kit/stores/test-store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { livingMembers } from "../../src/run/process-table.ts";
import { BEATING, beatsIn, CREW, uptimeMs, type Beat } from "./processes.ts";
import { Stage, type Wrapper } from "./wrapper.ts";

/**
 * A command is killed at 88% of the lease at the latest. The rest of the lease covers a guard that is delayed by three seconds.
 */
const LEASE_MS = 26_000;
const CREW_NAMES = ["main", "background", "deaf", "escaped"];

interface Case {
  readonly what: string;
  readonly on?: "postgres";
  readonly fault?: "blocked" | "exhausted";
  readonly nodeOptions?: readonly string[];
  readonly act?: (wrapper: Wrapper, stage: Stage) => Promise<void> | void;
  /** How often the command is asked to end. @defaultValue 1 */
  readonly asks?: number;
  /** How the wrapper ends. Absent if it is frozen until another candidate leads. */
  readonly ends?: number | NodeJS.Signals;
}

const kill = (wrapper: Wrapper): void => wrapper.signal("SIGKILL");
const freeze = async (wrapper: Wrapper): Promise<void> => wrapper.freeze();

const CASES: readonly Case[] = [
  { what: "the wrapper is killed", act: kill, ends: "SIGKILL" },
  { what: "the wrapper is frozen", act: freeze },
  // The guard uses no store. But a wrapper with a database server may have a renewal in progress.
  { what: "the wrapper is killed, on postgres", on: "postgres", act: kill, ends: "SIGKILL" },
  { what: "the wrapper is frozen, on postgres", on: "postgres", act: freeze },
  { what: "the wrapper is blocked", fault: "blocked" },
  {
    what: "the wrapper is frozen until its guard has asked",
    async act(wrapper, stage) {
      await wrapper.freeze();
      await wrapper.until(() => stage.read("witness.asked") !== "", "the guard's request");
      wrapper.signal("SIGCONT");
    },
    ends: 70,
  },
  {
    what: "the wrapper has no memory left",
    fault: "exhausted",
    nodeOptions: ["--max-old-space-size=64"],
    ends: "SIGABRT",
  },
  {
    what: "the guard is killed",
    act: async (wrapper) => signalAll([await wrapper.guardPid()], "SIGKILL"),
    asks: 0,
    ends: 70,
  },
  {
    what: "the guard is frozen",
    act: async (wrapper) => signalAll([await wrapper.guardPid()], "SIGSTOP"),
    asks: 0,
    ends: 70,
  },
  {
    what: "the wrapper and the guard are killed at once",
    act: async (wrapper) => signalAll([await wrapper.guardPid(), wrapper.pid], "SIGKILL"),
    asks: 0,
    ends: "SIGKILL",
  },
  {
    what: "the wrapper and the guard are frozen",
    async act(wrapper) {
      signalAll([await wrapper.guardPid()], "SIGSTOP");
      await wrapper.freeze();
    },
    asks: 0,
  },
  {
    what: "the wrapper is blocked, and the guard is frozen",
    fault: "blocked",
    act: async (wrapper) => signalAll([await wrapper.guardPid()], "SIGSTOP"),
    asks: 0,
  },
  {
    what: "everything that a pattern for the tool finds is killed",
    async act(wrapper) {
      const found = (await childrenOf([wrapper.pid])).filter((pid) => /leasehold|node/.test(commandLineOf(pid)));
      signalAll([...found, wrapper.pid], "SIGKILL");
    },
    asks: 0,
    ends: "SIGKILL",
  },
  {
    what: "the wrapper is frozen, and the guard for two seconds of its countdown",
    async act(wrapper) {
      const guard = await wrapper.guardPid();
      await wrapper.freeze();
      signalAll([guard], "SIGSTOP");
      await delay(2_000);
      signalAll([guard], "SIGCONT");
    },
  },
];

const postgresIsMissing = await isMissing(postgresMissing());
let postgres: Awaited<ReturnType<TestStore["start"]>> | undefined;
beforeAll(async () => {
  if (!postgresIsMissing) postgres = await (await testStore("postgres")).start();
});
afterAll(async () => postgres?.[Symbol.asyncDispose]());

describe.concurrent("the command is gone before its lease", () => {
  test.for(CASES)("when $what", { timeout: 600_000 }, async (each, { onTestFailed, skip }) => {
    const { what, on, fault, nodeOptions, act, asks = 1, ends } = each;
    skip(on === "postgres" && postgresIsMissing);
    await using stage = new Stage();
    const store = on === "postgres" ? { store: postgres!.settings["url"]! } : {};
    const common = { election: what, args: ["--lease", `${LEASE_MS}ms`], ...store };
    const faults = { FAULT: fault ?? "none", FAULT_NOW: stage.path("fault"), FAULT_OVER: stage.path("over") };
    const env = { WITNESS: stage.path("witness"), VALIDITY: stage.path("validity"), ...faults };
    const first = stage.start({ ...common, command: CREW, env, watched: true, ...(nodeOptions ? { nodeOptions } : {}) });
    onTestFailed(() => console.error(`${first.stderr}\n${stage.read("validity")}\n${stage.read("witness")}`));
    const term = await first.leads();
    const rival = stage.start({ ...common, command: BEATING, env: { WITNESS: stage.path("witness") } });
    await first.until(() => haveBeaten(stage, CREW_NAMES, term), "beats of all processes");
    // A wrapper that is frozen in the middle of a renewal keeps SQLite's file locked.
    if (on === undefined) await first.until(() => uptimeMs() - renewedMs(stage) <= LEASE_MS / 5, "a renewal");
    const guards = await childrenOf([first.pid]);
    await act?.(first, stage);
    if (fault) stage.write("fault", "now");

    const next = await rival.leads();
    const termId = stage.read("witness.terms").trim();
    const left = (livingMembers({ termId }) ?? []).map(({ pid }) => pid);
    // The wrapper's output ends only once these processes are gone.
    signalAll(left, "SIGKILL");
    expect(left).toEqual([]);
    await rival.until(() => haveBeaten(stage, ["main"], next), "a beat");
    const [own, others] = [true, false].map((isOwn) =>
      beatsIn(stage.read("witness")).filter((beat) => (beat.term === term) === isOwn),
    ) as [Beat[], Beat[]];
    expect(new Set(own.map(({ name }) => name))).toEqual(new Set(CREW_NAMES));
    const lastMs = Math.max(...own.map(({ atMs }) => atMs));
    // The order follows the commands' beats, and the record, which other candidates obey.
    expect(lastMs).toBeLessThan(Math.min(...others.map(({ atMs }) => atMs)));
    expect(lastMs).toBeLessThan(renewedMs(stage) + LEASE_MS);
    expect(stage.read("witness.stopped")).toContain(`${term} stopped`);
    expect(stage.read("witness.asked")).toBe("asked\n".repeat(asks));

    // A frozen wrapper goes on and finds its leadership lost, its command gone, and another leader.
    if (ends === undefined) {
      first.signal("SIGCONT");
      stage.write("over", "now");
    }
    expect(await first.exited).toBe(ends ?? 70);
    signalAll(guards, "SIGCONT");
    signalAll([rival.pid], "SIGTERM");
    expect(await rival.exited).toBe(143);
    expect(stage.read("witness.terms").trim()).toBe(termId);
  });
});

/** Returns when the last confirmed renewal was sent. Its record counts from this time at the earliest. */
function renewedMs(stage: Stage): number {
  const validUntilMs = Math.max(...stage.read("validity").trim().split("\n").map(Number));
  return validUntilMs - timing({ leaseDurationMs: LEASE_MS }).validForMs;
}

/** Reports whether each of these commands has beaten in a term. */
function haveBeaten(stage: Stage, names: readonly string[], term: number): boolean {
  const beats = beatsIn(stage.read("witness")).filter((beat) => beat.term === term);
  return names.every((name) => beats.some((beat) => beat.name === name));
}
