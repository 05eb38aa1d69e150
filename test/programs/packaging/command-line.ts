import { join } from "node:path";
import { run } from "./command.ts";
import { install } from "./install.ts";
import type { Report } from "./report.ts";
import type { Tarball } from "./tarball.ts";

/** Checks the command as a user has it: from its tarball, in an empty folder. */
export async function checkCommandLine(report: Report, tarballs: readonly Tarball[], temporary: string): Promise<void> {
  const pathOf = (name: string): string => tarballs.find(({ manifest }) => manifest.name === name)?.path ?? name;
  const version = tarballs.find(({ manifest }) => manifest.name === "leasehold")?.manifest.version ?? "";
  const alone = join(temporary, "command-line");
  const installed = await report.check("command line: it is installed in an empty folder", async () => {
    const names = ["leasehold", "@leasehold/core", "@leasehold/fleet", "@leasehold/sql"];
    await install(alone, Object.fromEntries(names.map((name) => [name, `file:${pathOf(name)}`])));
    return true;
  });
  if (!installed) return;

  const leasehold = async (args: readonly string[], folder = alone): Promise<string> =>
    await run("npx", ["--no-install", "leasehold", ...args], folder);
  await report.check("command line: npx leasehold --version", async () => {
    expectText(await leasehold(["--version"]), `${version}\n`);
  });
  await report.check("command line: npx leasehold run, on SQLite, runs its command as leader", async () => {
    const store = `sqlite://${join(alone, "x.db")}`;
    const said = await leasehold(["run", "--store", store, "--election", "e", "--", "sh", "-c", 'echo "term $LEASEHOLD_TERM"']);
    expectText(said, "term 1\n");
    await refuses(
      async () => await leasehold(["status", "e", "--store", store, "--json"]),
      "exit code 3",
      '"state":"vacant","term":1',
    );
  });
  await report.check("command line: a package that is missing is asked for, with the line that gets it", async () => {
    const line = "npx -p leasehold -p @leasehold/dynamodb leasehold …";
    await refuses(
      async () => await leasehold(["doctor", "--store", "dynamodb://leases"]),
      "exit code 78",
      "@leasehold/dynamodb is not installed",
      line,
    );
    const driver = "npx -p leasehold -p pg leasehold …";
    await refuses(
      async () => await leasehold(["doctor", "--store", "postgres://host/db"]),
      "exit code 78",
      "pg is not installed",
      driver,
    );
  });
  await report.check("command line: a package of the working directory is found from elsewhere", async () => {
    const project = join(temporary, "command-line-project");
    const names = ["@leasehold/core", "@leasehold/dynamodb"];
    await install(project, Object.fromEntries(names.map((name) => [name, `file:${pathOf(name)}`])));
    const binary = join(alone, "node_modules/.bin/leasehold");
    // No server listens there. The failed request shows that the package was found.
    const store = "dynamodb://leases?region=eu-west-1&endpoint=http://127.0.0.1:1";
    const credentials = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any" };
    await refuses(
      async () => await run(binary, ["doctor", "--store", store], project, credentials),
      "exit code 69",
      "ECONNREFUSED",
    );
  });
}

function expectText(said: string, expected: string): void {
  if (!said.includes(expected)) throw new Error(`expected ${JSON.stringify(expected)}, and it said:\n${said}`);
}

/** @throws if the command succeeds, or if its output lacks one of these texts. */
async function refuses(act: () => Promise<string>, ...expected: readonly string[]): Promise<void> {
  let said: string;
  try {
    said = `it was not refused:\n${await act()}`;
  } catch (error) {
    said = String(error);
  }
  for (const text of expected) expectText(said, text);
}
