import { execFile, type ExecFileException } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";

/** Far beyond what an install from a registry takes; then something is wrong. */
const TIME_LIMIT_MS = 1_800_000;
/** So many programs at a time. They wait for a registry, or for leases, for half of the time. */
const AT_ONCE = 2 * availableParallelism();

let running = 0;
const waiting: Array<() => void> = [];

/** Runs a program to its end, and gives what it printed. @throws with all that it printed when it failed. */
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
    // The next one takes this one's place.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}
