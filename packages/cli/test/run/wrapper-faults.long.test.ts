/** The wrapper, its guard, or both are killed, frozen or out of order: nothing of the command outlives the lease. */
import { setTimeout as delay } from "node:timers/promises";
import { childrenOf, signalAll } from "@leasehold/test-kit/processes/process-tree";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing } from "@leasehold/test-kit/backends/postgres";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BEATING, beatsIn, CREW, worstHoldUpMs, worstOverlapMs } from "./crew.ts";
import { nothingLeftOf, Stage, type Wrapper } from "./wrapper.ts";

const LEASE_MS = 5_000;
/** /proc/uptime counts in hundredths of a second. */
const GRAIN_MS = 20;
/**
 * By how much a busy machine may hold up the guard's KILL, which is aimed at 250 ms before the end of validity, beyond what it was
 * seen to hold up the command. Rivals wait for another 500 ms.
 */
const HELD_UP_MS = 500;

interface Case {
  readonly what: string;
  readonly fault?: "blocked" | "exhausted";
  readonly nodeOptions?: readonly string[];
  /** Begins right after a renewal: who is frozen in the middle of one keeps SQLite's file locked. */
  readonly act?: (wrapper: Wrapper) => Promise<void>;
  /** How the wrapper ends; absent where it does so by the case's end only. */
  readonly ends?: number | NodeJS.Signals;
}

const signalWrapper = (signal: NodeJS.Signals) => async (wrapper: Wrapper) => wrapper.signal(signal);

const CASES: readonly Case[] = [
  { what: "the wrapper is killed", act: signalWrapper("SIGKILL"), ends: "SIGKILL" },
  { what: "the wrapper is frozen", act: async (wrapper) => wrapper.freeze() },
  { what: "the wrapper is blocked for two leases", fault: "blocked", ends: 70 },
  {
    what: "the wrapper has no memory left",
    fault: "exhausted",
    nodeOptions: ["--max-old-space-size=64"],
    ends: "SIGABRT",
  },
  { what: "the guard is killed", act: async (wrapper) => signalAll([await wrapper.guardPid()], "SIGKILL"), ends: 70 },
  { what: "the guard is frozen", act: async (wrapper) => signalAll([await wrapper.guardPid()], "SIGSTOP"), ends: 70 },
  {
    what: "the wrapper and the guard are killed at once",
    act: async (wrapper) => signalAll([await wrapper.guardPid(), wrapper.pid], "SIGKILL"),
    ends: "SIGKILL",
  },
  {
    what: "the wrapper is frozen, and the guard for two seconds of its countdown",
    act: async (wrapper) => {
      const guard = await wrapper.guardPid();
      await wrapper.freeze();
      signalAll([guard], "SIGSTOP");
      await delay(2_000);
      signalAll([guard], "SIGCONT");
    },
  },
];

/** On a service of its own, or on SQLite, in a file of each case's own. */
async function serviceOf(name: StoreName): Promise<{ readonly url: string | undefined } & AsyncDisposable> {
  if (name === "sqlite") return { url: undefined, [Symbol.asyncDispose]: async () => undefined };
  const service = await (await testStore(name)).start();
  return { url: service.settings["url"], [Symbol.asyncDispose]: async () => service[Symbol.asyncDispose]() };
}

const postgresIsMissing = await isMissing(postgresMissing());

/** With a server, the wrapper may have a renewal under way when something befalls it; the guard knows no store. */
const CASES_ON = [
  ["sqlite", CASES],
  ["postgres", CASES.filter(({ what }) => what.startsWith("the wrapper is"))],
] as const;

describe.each(CASES_ON)("on %s", (name, cases) => {
  let service: Awaited<ReturnType<typeof serviceOf>>;
  beforeAll(async () => {
    service = await serviceOf(name);
  });
  afterAll(async () => service[Symbol.asyncDispose]());

  describe.skipIf(name === "postgres" && postgresIsMissing).concurrent("the command is gone before its lease", () => {
    test.for(cases)("when $what", async ({ what, fault, nodeOptions, act, ends }, { onTestFailed }) => {
      await using stage = new Stage();
      const { url: store } = service;
      const common = { election: what, args: ["--lease", `${LEASE_MS}ms`], ...(store ? { store } : {}) };
      const files = { WITNESS: stage.path("witness"), VALIDITY: stage.path("validity"), FAULT_NOW: stage.path("fault") };
      const env = { ...files, FAULT: fault ?? "none" };
      const first = stage.start({ ...common, command: CREW, env, watched: true, ...(nodeOptions ? { nodeOptions } : {}) });
      onTestFailed(() => console.error(`${first.stderr}\n${stage.read("validity")}\n${stage.read("witness")}`));
      const term = await first.leads();
      const rival = stage.start({ ...common, command: BEATING, env: { WITNESS: stage.path("witness") } });
      await beatsOf(stage, 5, term);
      if (act) await renewal(stage);
      const guards = await childrenOf([first.pid]);
      const faultMs = Number(process.hrtime.bigint()) / 1e6;
      await act?.(first);
      if (fault) stage.write("fault", "now");
      if (ends !== undefined) expect(await first.exited).toBe(ends);
      const next = await rival.leads();
      const termId = stage.read("witness.terms").trim();
      await nothingLeftOf(termId);
      const validUntilMs = Math.max(...stage.read("validity").trim().split("\n").map(Number));
      await beatsOf(stage, 1, next);
      const beats = beatsIn(stage.read("witness"));
      const firstBeats = beats.filter((beat) => beat.term === term);
      const lastMs = Math.max(...firstBeats.map(({ monotonicMs }) => monotonicMs));
      expect(new Set(firstBeats.map((beat) => beat.name))).toEqual(new Set(["main", "background", "deaf", "escaped"]));
      expect(stage.read("witness.stopped")).toContain(`${term} stopped`);
      expect(lastMs).toBeLessThan(validUntilMs + HELD_UP_MS + worstHoldUpMs(firstBeats, faultMs));
      expect(worstOverlapMs(beats)).toBeLessThan(GRAIN_MS);
      // A wrapper that thaws finds its leadership lost, its command gone, and another leading.
      if (ends === undefined) {
        first.signal("SIGCONT");
        expect(await first.exited).toBe(70);
      }
      signalAll(guards, "SIGCONT");
      signalAll([rival.pid], "SIGTERM");
      expect(await rival.exited).toBe(143);
      expect(stage.read("witness.terms").trim()).toBe(termId);
    });
  });
});

/** Resolves once the first wrapper has renewed its lease. */
async function renewal(stage: Stage): Promise<void> {
  const before = stage.read("validity").length;
  while (stage.read("validity").length === before) await delay(5);
}

/** Resolves once a term has so many beats. */
async function beatsOf(stage: Stage, count: number, term: number): Promise<void> {
  while (beatsIn(stage.read("witness")).filter((beat) => beat.term === term).length < count) await delay(50);
}
