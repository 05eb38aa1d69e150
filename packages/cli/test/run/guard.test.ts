/** The guard, as its wrapper talks to it. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import * as consumers from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { nodeArguments, nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import { processState } from "@leasehold/test-kit/processes/process-state";
import { childrenOf, signalAll } from "@leasehold/test-kit/processes/process-tree";
import { describe, expect, onTestFinished, test } from "vitest";
import type { GuardOrder } from "../../src/run/guard-order.ts";
import { GuardProcess } from "../../src/run/guard-process.ts";
import { after, machineNow } from "../../src/run/machine-clock.ts";

const GUARD = fileURLToPath(new URL("../../src/run/guard.ts", import.meta.url));
/** Longer than any test takes. */
const FAR_MS = 600_000;

let terms = 0;

/** A guard, and a command of its term that has started. */
class Guarded {
  readonly termId = `a-term-of-guard-test-${process.pid}-${(terms += 1)}`;
  readonly command: ChildProcess;
  readonly guard: ChildProcess;
  readonly commandEnd: Promise<unknown[]>;
  readonly guardEnd: Promise<unknown[]>;
  /** What the command has said. */
  said = "";
  readonly #answers: AsyncIterator<string>;
  #seq = 0;

  constructor(script: string) {
    const line = `${script}; echo up; while :; do sleep 0.05; done`;
    this.command = spawn("sh", ["-c", line], { detached: true, env: { ...process.env, LEASEHOLD_TERM_ID: this.termId } });
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

  /** Gives an order, and resolves once it is heard. */
  async order(inMs: { readonly term: number | null; readonly kill: number }, more: Partial<GuardOrder> = {}): Promise<void> {
    const now = machineNow();
    const order: GuardOrder = {
      seq: (this.#seq += 1),
      termId: this.termId,
      leader: { pid: this.command.pid! } as GuardOrder["leader"] & object,
      signal: "SIGINT",
      graceMs: FAR_MS,
      termAt: inMs.term === null ? null : after(now, inMs.term),
      killAt: after(now, inMs.kill),
      ...more,
    };
    this.guard.stdin?.write(`${JSON.stringify(order)}\n`);
    expect((await this.#answers.next()).value).toBe(String(order.seq));
  }

  async up(): Promise<this> {
    while (!this.said.includes("up\n")) await delay(10);
    return this;
  }
}

test("asks the command to end once its time passes unheard of, with the signal that it was told, and leaves when nothing is left", async () => {
  const guarded = await new Guarded('trap "exit 7" INT').up();
  await guarded.order({ term: 300, kill: FAR_MS });
  expect(await guarded.commandEnd).toEqual([7, null]);
  expect(await guarded.guardEnd).toEqual([0, null]);
});

test("kills what does not end in its grace", async () => {
  const guarded = await new Guarded('trap "echo asked" INT').up();
  await guarded.order({ term: 0, kill: FAR_MS }, { graceMs: 500 });
  expect(await guarded.commandEnd).toEqual([null, "SIGKILL"]);
  expect(guarded.said).toContain("asked");
  expect(await guarded.guardEnd).toEqual([0, null]);
});

test("kills at the end of validity what has been asked already, and asks no second time", async () => {
  const guarded = await new Guarded('trap "echo asked" INT').up();
  await guarded.order({ term: null, kill: 500 });
  expect(await guarded.commandEnd).toEqual([null, "SIGKILL"]);
  expect(guarded.said).not.toContain("asked");
});

test("goes by the last order, which puts off what the one before it said", async () => {
  const guarded = await new Guarded('trap "exit 7" INT').up();
  await guarded.order({ term: 3_000, kill: 3_000 });
  await guarded.order({ term: FAR_MS, kill: FAR_MS });
  // An older one that comes late says nothing any more.
  await guarded.order({ term: 0, kill: 0 }, { seq: 1 });
  await delay(4_000);
  expect([guarded.command.exitCode, guarded.command.signalCode]).toEqual([null, null]);
});

test("asks the command at once when the wrapper is gone", async () => {
  const guarded = await new Guarded('trap "exit 7" INT').up();
  await guarded.order({ term: FAR_MS, kill: FAR_MS });
  guarded.guard.stdin?.end();
  expect(await guarded.commandEnd).toEqual([7, null]);
  expect(await guarded.guardEnd).toEqual([0, null]);
});

test("leaves at once when the wrapper is gone before it gave an order", async () => {
  const guarded = new Guarded(":");
  guarded.guard.stdin?.end();
  expect(await guarded.guardEnd).toEqual([0, null]);
});

test("leaves when it is told that all is done, and no signal moves it before", async () => {
  const guarded = await new Guarded(":").up();
  await guarded.order({ term: FAR_MS, kill: FAR_MS });
  for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR2"] as const) guarded.guard.kill(signal);
  await guarded.order({ term: FAR_MS, kill: FAR_MS });
  guarded.guard.stdin?.write("done\n");
  expect(await guarded.guardEnd).toEqual([0, null]);
  expect(await processState(guarded.command.pid!)).toBe("running");
});

test("lets the last guard go when it leaves, by the pipe that both of them hold", async () => {
  const guard = spawn(nodeExecutable(), nodeArguments(GUARD, []), { stdio: ["pipe", "pipe", "inherit", "pipe"] });
  onTestFinished(() => void guard.kill("SIGKILL"));
  const told = consumers.text(guard.stdio[3] as Readable);
  guard.stdin?.end();
  expect(await told).toBe("done\n");
});

test("waits for a command that may be started yet, as long as the wrapper lives, and a moment longer", async () => {
  const guarded = await new Guarded('trap "exit 7" INT').up();
  await guarded.order({ term: 0, kill: FAR_MS }, { termId: "a-term-that-nobody-has-begun", leader: undefined });
  await delay(1_500);
  expect(guarded.guard.exitCode).toBe(null);
  const goneMs = performance.now();
  guarded.guard.stdin?.end();
  expect(await guarded.guardEnd).toEqual([0, null]);
  expect(performance.now() - goneMs).toBeGreaterThan(900);
});

describe.runIf(process.platform === "linux")("the wrapper", () => {
  const PATIENCE_MS = 5_000;
  const order = (): Omit<GuardOrder, "seq"> => {
    const instant = after(machineNow(), FAR_MS);
    return { termId: "a-term-of-a-patient-wrapper", signal: "SIGTERM", graceMs: FAR_MS, termAt: instant, killAt: instant };
  };
  const guardPids = async (): Promise<readonly number[]> =>
    (await childrenOf([process.pid])).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("run/guard.ts"));

  test("takes a guard that leaves an order unanswered for one that is gone, and one that answers many at once for none", async () => {
    const guard = new GuardProcess("a-term-of-a-patient-wrapper", PATIENCE_MS);
    onTestFinished(() => guard.dismiss());
    let why: string | undefined;
    void guard.lost.then((reason) => (why = reason));
    guard.order(order());
    await guard.answered;
    for (let count = 0; count < 10; count += 1) guard.order(order());
    await delay(PATIENCE_MS + 500);
    guard.order(order());
    await delay(100);
    expect(why).toBe(undefined);

    const pids = await guardPids();
    signalAll(pids, "SIGSTOP");
    guard.order(order());
    await delay(PATIENCE_MS + 500);
    guard.order(order());
    expect(await guard.lost).toBe("does not answer");
    signalAll(pids, "SIGCONT");
  });
});
