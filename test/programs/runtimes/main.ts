/**
 * `npm run runtimes`: runs `suite.ts` with Bun and with Deno, whose newest versions it installs from npm into a temporary folder.
 * `-- bun@1.4.4` names the versions. The exit code is 1 if anything fails.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const CONDITION = "--conditions=@leasehold/source";
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  bun: [CONDITION],
  // Deno does not check types here: `npm run types` does.
  deno: ["run", "--allow-all", "--no-check", CONDITION],
};

const given = process.argv.slice(2);
const packages = given.length > 0 ? given : Object.keys(ARGUMENTS);
const folder = mkdtempSync(join(tmpdir(), "leasehold-runtimes-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "package.json"), "{}");

/** Runs a program with this process's output. Returns true if it succeeded. */
function run(program: string, args: readonly string[], cwd?: string): boolean {
  return spawnSync(program, args, { stdio: "inherit", ...(cwd === undefined ? {} : { cwd }) }).status === 0;
}

if (!run("npm", ["install", "--no-audit", "--no-fund", ...packages], folder)) process.exit(1);
const outcomes = packages.map((name) => {
  const [runtime = ""] = name.split("@");
  const program = join(folder, "node_modules/.bin", runtime);
  return run(program, ["--version"]) && run(program, [...(ARGUMENTS[runtime] ?? []), join(import.meta.dirname, "suite.ts")]);
});
process.exit(outcomes.every(Boolean) ? 0 : 1);
