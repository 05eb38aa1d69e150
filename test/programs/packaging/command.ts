import { spawnSync } from "node:child_process";

/** Long enough for an install from a registry, short enough to end before CI gives up. */
const TIME_LIMIT_MS = 300_000;

/** Runs a program to its end, and gives what it printed. @throws with all that it printed when it failed. */
export function run(command: string, args: readonly string[], folder: string, environment: NodeJS.ProcessEnv = {}): string {
  const { status, signal, stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    timeout: TIME_LIMIT_MS,
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0", ...environment },
  });
  if (error || status !== 0) {
    const end = error ? error.message : `ended with ${status === null ? String(signal) : `exit code ${status}`}`;
    throw new Error([`${[command, ...args].join(" ")}: ${end}`, stdout, stderr].filter(Boolean).join("\n"));
  }
  return stdout;
}
