import { join } from "node:path";
import { run } from "./command.ts";
import { install } from "./install.ts";
import type { Report } from "./report.ts";
import type { Tarball } from "./tarball.ts";

/** Checks the command as its users have it: from its tarball, in a folder that is empty but for that. */
export function checkCommandLine(report: Report, tarballs: readonly Tarball[], temporary: string): void {
  const pathOf = (name: string): string => tarballs.find(({ manifest }) => manifest.name === name)?.path ?? name;
  const version = tarballs.find(({ manifest }) => manifest.name === "leasehold")?.manifest.version ?? "";
  const alone = join(temporary, "command-line");
  const installed = report.check("command line: it is installed in an empty folder", () => {
    const names = ["leasehold", "@leasehold/core", "@leasehold/sql"];
    install(alone, Object.fromEntries(names.map((name) => [name, `file:${pathOf(name)}`])));
    return true;
  });
  if (!installed) return;

  const leasehold = (args: readonly string[], folder = alone): string =>
    run("npx", ["--no-install", "leasehold", ...args], folder);
  report.check("command line: npx leasehold --version", () => {
    expectText(leasehold(["--version"]), `${version}\n`);
  });
  report.check("command line: npx leasehold run, on SQLite, runs its command as leader", () => {
    const store = `sqlite://${join(alone, "x.db")}`;
    const said = leasehold(["run", "--store", store, "--election", "e", "--", "sh", "-c", 'echo "term $LEASEHOLD_TERM"']);
    expectText(said, "term 1\n");
    refuses(() => leasehold(["status", "e", "--store", store, "--json"]), "exit code 3", '"state":"vacant","term":1');
  });
  report.check("command line: a package that is missing is asked for, with the line that gets it", () => {
    const line = "npx -p leasehold -p @leasehold/dynamodb leasehold …";
    refuses(
      () => leasehold(["doctor", "--store", "dynamodb://leases"]),
      "exit code 78",
      "@leasehold/dynamodb is not installed",
      line,
    );
    const driver = "npx -p leasehold -p pg leasehold …";
    refuses(() => leasehold(["doctor", "--store", "postgres://host/db"]), "exit code 78", "pg is not installed", driver);
  });
  report.check("command line: a package of the working directory is found from elsewhere", () => {
    const project = join(temporary, "command-line-project");
    const names = ["@leasehold/core", "@leasehold/dynamodb"];
    install(project, Object.fromEntries(names.map((name) => [name, `file:${pathOf(name)}`])));
    const binary = join(alone, "node_modules/.bin/leasehold");
    // Nobody listens there; that it was asked shows that the package was found.
    const store = "dynamodb://leases?region=eu-west-1&endpoint=http://127.0.0.1:1";
    const credentials = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any" };
    refuses(() => run(binary, ["doctor", "--store", store], project, credentials), "exit code 69", "ECONNREFUSED");
  });
}

function expectText(said: string, expected: string): void {
  if (!said.includes(expected)) throw new Error(`expected ${JSON.stringify(expected)}, and it said:\n${said}`);
}

/** @throws unless it fails, and says each of these. */
function refuses(act: () => string, ...expected: readonly string[]): void {
  let said: string;
  try {
    said = `it was not refused:\n${act()}`;
  } catch (error) {
    said = String(error);
  }
  for (const text of expected) expectText(said, text);
}
