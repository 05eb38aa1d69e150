import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Payments } from "./payments.ts";
import { runProgram } from "./program.ts";
import { file } from "./settings.ts";
import { verdictOn } from "./verdict.ts";

/*
 * Two processes drain the payments. The first freezes (SIGSTOP) right before it writes one payment. The second then writes
 * that payment and more. After that the first continues.
 */

const MAIN = fileURLToPath(new URL("main.js", import.meta.url));

/** Starts a process. Returns it, and a function that waits for a line that matches. */
function start(name: string, freezeAt?: string): { child: ChildProcess; said: (pattern: RegExp) => Promise<void> } {
  const env = { LEASE_DURATION_MS: "2000", ...process.env, FREEZE_AT: freezeAt };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  createInterface(child.stdout).on("line", (line) => {
    console.log(`${name} | ${line}`);
    lines.push(line);
    for (const check of waiting) check();
  });
  const said = (pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (lines.some((line) => pattern.test(line))) resolve();
      };
      waiting.add(check);
      child.once("close", () => reject(new Error(`${name} has ended, and never said ${String(pattern)}.`)));
      check();
    });
  return { child, said };
}

await runProgram(async () => {
  await using payments = new Payments(file);
  if (payments.ledger().length > 0 || payments.next()) throw new Error(`${file} holds payments already: delete it first.`);
  for (let cents = 1; cents <= 12; cents += 1) payments.add(cents);

  const first = start("first ", "4");
  await first.said(/leads/);
  const second = start("second");
  try {
    await first.said(/preparing payment 4$/);
    console.log("       > the first freezes");
    await second.said(/applied payment 6,/);
    console.log("       > the first goes on");
    first.child.kill("SIGCONT");
    await second.said(/applied payment 12,/);
    await first.said(/payment 4[.,]/);
  } finally {
    for (const { child } of [first, second]) {
      child.kill("SIGCONT");
      child.kill("SIGTERM");
    }
  }
  console.log(verdictOn(payments.ledger()));
});
