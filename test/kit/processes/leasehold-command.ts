import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE, nodeArguments } from "./owned-process.ts";

const MAIN = fileURLToPath(new URL("../../../packages/cli/src/main.ts", import.meta.url));

/** The result of a run of the command. */
export interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Returns the command line that runs `leasehold` from its sources, in a separate process; options of Node come first. */
export function commandLine(args: readonly string[], nodeOptions: readonly string[] = []): readonly [string, ...string[]] {
  return [process.execPath, "--disable-warning=ExperimentalWarning", ...nodeOptions, ...nodeArguments(MAIN, args)];
}

/** Returns this process's environment, with `given`, and without variables that configure Node, the command or an SDK. */
export function commandEnvironment(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(LEASEHOLD_|AWS_|GOOGLE_|AZURE_|PG|NODE_OPTIONS$|VITEST)/.test(name),
  );
  return { ...(Object.fromEntries(own) as Record<string, string>), NODE_COMPILE_CACHE: COMPILE_CACHE, ...given };
}

/**
 * Runs the command to its end, without a terminal. `stopWhen` is called with all of stdout so far; if it returns true, the
 * command gets TERM.
 */
export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stopWhen: (stdout: string) => boolean = () => false,
): Promise<Ran> {
  const [file, ...rest] = commandLine(args);
  const child = spawn(file, rest, { env: commandEnvironment(env), stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    if (stopWhen(stdout)) child.kill("SIGTERM");
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [exitCode] = (await once(child, "close")) as [number];
  return { exitCode, stdout, stderr };
}
