/** The guard as a process, with the orders of a wrapper. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import * as consumers from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { nodeArguments, nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import { processState, reachesState } from "@leasehold/test-kit/processes/process-state";
import { signalAll } from "@leasehold/test-kit/processes/process-tree";
import { expect, onTestFinished, test } from "vitest";
import type { GuardOrder } from "../../src/run/guard-order.ts";
import { after, machineNow } from "../../src/run/machine-clock.ts";
import { parseStat, startTicksOf, type GroupLeader } from "../../src/run/process-table.ts";

const GUARD = fileURLToPath(new URL("../../src/run/guard.ts", import.meta.url));
/** Longer than any test takes. */
const FAR_MS = 600_000;

let terms = 0;

/** In milliseconds. */
interface Times {
  readonly term: number;
  readonly kill: number;
  /** True if the orders have the command's `leader`. @defaultValue true */
  readonly started?: boolean;
}

/** A guard, and a command of its term that has started. */
class Guarded {
  readonly termId = `a-term-of-guard-test-${process.pid}-${(terms += 1)}`;
  readonly command: ChildProcess;
  readonly guard: ChildProcess;
  readonly commandEnd: Promise<unknown[]>;
  readonly guardEnd: Promise<unknown[]>;
  /** The output of the command. */
  said = "";
  readonly #answers: AsyncIterator<string>;
  readonly #leader: GroupLeader;
  #seq = 0;

  constructor(script: string) {
    const line = `${script}; echo up; while :; do sleep 0.05; done`;
    this.command = spawn("sh", ["-c", line], { detached: true, env: { ...process.env, LEASEHOLD_TERM_ID: this.termId } });
    this.#leader = { pid: this.command.pid!, startTicks: startTicksOf(this.command.pid!) };
    this.command.stdout?.setEncoding("utf8").on("data", (text: string) => (this.said += text));
    this.commandEnd = once(this.command, "exit");
    this.guard = spawn(nodeExecutable(), nodeArguments(GUARD, []), { stdio: ["pipe", "pipe", "inherit"] });
    this.guardEnd = once(this.guard, "exit");
    this.#answers = createInterface(this.guard.stdout!)[Symbol.asyncIterator]();
    onTestFinished(() => {
      this.guard.kill("SIGKILL");
      signalAll([-this.command.pid!], "SIGKILL");
    });
  }

  /** Gives orders, all at once. Their times count from now. */
  tell(...orders: ReadonlyArray<Times>): readonly number[] {
    const now = machineNow();
    const given = orders.map(({ term, kill, started = true }): GuardOrder => ({
      seq: (this.#seq += 1),
      termId: this.termId,
      leader: started ? this.#leader : undefined,
      signal: "SIGINT",
      graceMs: FAR_MS,
      termAt: after(now, term),
      killAt: after(now, kill),
    }));
    this.guard.stdin?.write(given.map((order) => `${JSON.stringify(order)}\n`).join(""));
    return given.map(({ seq }) => seq);
  }

  /** Gives orders, and resolves once the guard has answered them. */
  async order(...orders: ReadonlyArray<Times>): Promise<void> {
    for (const seq of this.tell(...orders)) expect((await this.#answers.next()).value).toBe(String(seq));
  }

  async up(): Promise<this> {
    while (!this.said.includes("up\n")) await delay(10);
    return this;
  }
}

test("kills a command that ignores its request at the end of validity", async () => {
  const guarded = await new Guarded('trap "echo asked" INT').up();
  // The guard has started, which may take long.
  await guarded.order({ term: FAR_MS, kill: FAR_MS });
  await guarded.order({ term: 0, kill: 1_000 });
  expect(await guarded.commandEnd).toEqual([null, "SIGKILL"]);
});

test.runIf(process.platform === "linux")(
  "ignores an order that a newer one replaces, if both come at once, and after a freeze",
  async () => {
    const guarded = await new Guarded(":").up();
    // The guard has started, which may take long.
    await guarded.order({ term: FAR_MS, kill: FAR_MS });
    await guarded.order({ term: 0, kill: 0 }, { term: 5_000, kill: 5_000 });
    // The guard has answered, but has not set its timer yet.
    const { pid } = guarded.guard;
    while (parseStat(readFileSync(`/proc/${pid}/stat`, "latin1")).state !== "S") await delay(2);
    guarded.guard.kill("SIGSTOP");
    await reachesState(pid!, "stopped");
    await delay(5_100);
    const heard = guarded.order({ term: FAR_MS, kill: FAR_MS });
    guarded.guard.kill("SIGCONT");
    await heard;
    await guarded.order({ term: FAR_MS, kill: FAR_MS });
    guarded.command.kill("SIGTERM");
    expect(await guarded.commandEnd).toEqual([null, "SIGTERM"]);
  },
);

test("asks the command when the wrapper is gone, even if the wrapper has read no answer", async () => {
  const guarded = await new Guarded('trap "exit 7" INT').up();
  await guarded.order({ term: FAR_MS, kill: FAR_MS });
  guarded.guard.stdout?.destroy();
  guarded.tell({ term: FAR_MS, kill: FAR_MS });
  guarded.guard.stdin?.end();
  expect(await guarded.commandEnd).toEqual([7, null]);
  expect(await guarded.guardEnd).toEqual([0, null]);
});

test.runIf(process.platform === "linux")("asks a command that the wrapper has not named yet", async () => {
  const guarded = await new Guarded('trap "exit 7" INT').up();
  await guarded.order({ term: 0, kill: FAR_MS, started: false });
  expect(await guarded.commandEnd).toEqual([7, null]);
});

test("leaves at once when the wrapper ends without an order", async () => {
  const guarded = new Guarded(":");
  guarded.guard.stdin?.end();
  expect(await guarded.guardEnd).toEqual([0, null]);
});

test("leaves at the line `done`, and ignores signals before", async () => {
  const guarded = await new Guarded(":").up();
  await guarded.order({ term: FAR_MS, kill: FAR_MS });
  for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR2"] as const) guarded.guard.kill(signal);
  await guarded.order({ term: FAR_MS, kill: FAR_MS });
  guarded.guard.stdin?.write("done\n");
  expect(await guarded.guardEnd).toEqual([0, null]);
  expect(await processState(guarded.command.pid!)).toBe("running");
});

test.runIf(process.platform === "linux")(
  "makes a backup guard leave that has read no order for long, instead of leaving it an old one",
  async () => {
    const guard = spawn(nodeExecutable(), nodeArguments(GUARD, []), { stdio: ["pipe", "ignore", "inherit", "pipe"] });
    onTestFinished(() => void guard.kill("SIGKILL"));
    // The last orders may still be under way when it is killed.
    guard.stdin?.on("error", () => {});
    const instant = after(machineNow(), FAR_MS);
    const order = { seq: 1, termId: "a-term-of-nobody", signal: "SIGTERM", graceMs: FAR_MS, termAt: instant, killAt: instant };
    // The pipe holds fewer. The test reads it only later.
    for (let orders = 0; orders < 20_000; orders += 1) {
      if (!guard.stdin?.write(`${JSON.stringify(order)}\n`)) await once(guard.stdin!, "drain");
    }
    const lines = (await consumers.text(guard.stdio[3] as Readable)).split("\n");
    expect(lines.length).toBeLessThan(20_000);
    expect(lines.slice(-3)).toEqual([expect.stringMatching(/^order /), "done", ""]);
  },
);

test.runIf(process.platform === "linux")("sends the backup guard each order and `done`, on its pipe", async () => {
  const guard = spawn(nodeExecutable(), nodeArguments(GUARD, []), { stdio: ["pipe", "pipe", "inherit", "pipe"] });
  onTestFinished(() => void guard.kill("SIGKILL"));
  const told = consumers.text(guard.stdio[3] as Readable);
  const instant = after(machineNow(), FAR_MS);
  const order = { termId: "a-term-of-nobody", signal: "SIGTERM", graceMs: FAR_MS, termAt: instant, killAt: instant };
  const beforeMs = uptime() * 1_000;
  for (const more of [{ seq: 1 }, { seq: 2, leader: { pid: 4_000_000 } }]) {
    guard.stdin?.write(`${JSON.stringify({ ...order, ...more })}\n`);
  }
  guard.stdin?.write("done\n");
  const [first, second, ...rest] = (await told).split("\n");
  expect([first, second, ...rest]).toEqual([
    expect.stringMatching(/^order a-term-of-nobody \d+ \d+ \.$/),
    expect.stringMatching(/^order a-term-of-nobody \d+ \d+ 4000000 \.$/),
    "done",
    "",
  ]);
  // The time is in hundredths of a second of the kernel's uptime, and not after the deadline.
  const untilMs = Number(first?.split(" ")[2]) * 10;
  expect(untilMs).toBeGreaterThanOrEqual(beforeMs + FAR_MS - 30_000);
  expect(untilMs).toBeLessThanOrEqual(uptime() * 1_000 + FAR_MS);
});
