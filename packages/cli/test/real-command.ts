import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Ran } from "./captured-command.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const COMPILE_CACHE = fileURLToPath(new URL("../../../node_modules/.cache/compiled", import.meta.url));

/** The line that runs the command from its sources, as a process of its own. */
export function realLine(...args: readonly string[]): readonly string[] {
  return [
    process.execPath,
    "--conditions=@leasehold/source",
    "--disable-warning=ExperimentalWarning",
    ...(process.features.typescript === false ? ["--experimental-strip-types"] : []),
    MAIN,
    ...args,
  ];
}

/** This process's environment, without what reconfigures Node, the command or an SDK, and with the given. */
export function realEnvironment(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(LEASEHOLD_|AWS_|GOOGLE_|AZURE_|PG|NODE_OPTIONS$|VITEST)/.test(name),
  );
  return { ...(Object.fromEntries(own) as Record<string, string>), NODE_COMPILE_CACHE: COMPILE_CACHE, ...given };
}

/** Runs the command to its end, without a terminal. `stopWhen` is told all of stdout so far, and may have it stopped by TERM. */
export async function runReal(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stopWhen: (stdout: string) => boolean = () => false,
): Promise<Ran> {
  const [file = "", ...rest] = realLine(...args);
  const child = spawn(file, rest, { env: realEnvironment(env), stdio: ["ignore", "pipe", "pipe"] });
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
