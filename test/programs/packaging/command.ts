import { execFile, type ExecFileException } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";

/** Much longer than an install from a registry takes. A program that takes longer hangs. */
const TIME_LIMIT_MS = 1_800_000;
/** The most programs at a time. For half of the time they wait for a registry or for leases. */
const AT_ONCE = 2 * availableParallelism();

let running = 0;
const waiting: Array<() => void> = [];

/** Runs a program to its end, and returns its output. @throws with all of its output if it fails. */
export async function run(
  command: string,
  args: readonly string[],
  folder: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<string> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    const { stdout } = await promisify(execFile)(command, [...args], {
      cwd: folder,
      maxBuffer: 64 * 1024 * 1024,
      timeout: TIME_LIMIT_MS,
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0", ...environment },
    });
    return stdout;
  } catch (error) {
    const { code, signal, stdout, stderr, message } = error as ExecFileException;
    const end = typeof code === "number" ? `ended with exit code ${code}` : (signal ?? message);
    throw new Error([`${[command, ...args].join(" ")}: ${end}`, stdout, stderr].filter(Boolean).join("\n"), { cause: error });
  } finally {
    // The next program takes the place of this one.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}
