/**
 * `npm run drivers`: runs the tests of drivers of `packages/sql` with the oldest version of each that Leasehold takes. It installs them
 * from npm into a temporary folder. `-- postgres@3.4.3 mariadb@3.1.0` names the versions. It also runs examples/orms from the packed
 * packages: with Prisma, for which it generates a client, and with the oldest ORMs. The exit code is 1 if anything fails.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { startPostgres } from "@leasehold/test-kit/backends/postgres";
import { createDatabase, freezeBill, REFUSED, termsOf } from "./frozen-bill.ts";

/** The versions with which the table of packages/sql/README.md begins. better-sqlite3 has prebuilt binaries in its package since 13. */
const OLDEST = [
  "postgres@3.4.7",
  "@electric-sql/pglite@0.3.0",
  "@neondatabase/serverless@1.0.0",
  "mariadb@3.2.0",
  "better-sqlite3@13.0.0",
  "libsql@0.4.0",
];
/** The versions that packages/sql/orms.md names, by the program of the example. */
const OLDEST_ORMS = { drizzle: "drizzle-orm@0.36.0", knex: "knex@2.0.0", kysely: "kysely@0.27.0", typeorm: "typeorm@0.3.0" };

const REPOSITORY = join(import.meta.dirname, "../../..");

const given = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "leasehold-drivers-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Runs a program with this process's output. Returns true if it succeeded. */
function run(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): boolean {
  const [program = "", ...rest] = args;
  return spawnSync(program, rest, { cwd, stdio: "inherit", env: { ...process.env, ...env } }).status === 0;
}

/** Installs packages beside those of the folder's package.json. Prisma downloads its engines by a script; an adapter needs none. */
function install(into: string, ...packages: readonly string[]): boolean {
  return run(["npm", "install", "--no-audit", "--no-fund", "--legacy-peer-deps", "--ignore-scripts", ...packages], into);
}

/** Returns the paths of the packages as npm would publish them. */
function packed(): readonly string[] {
  const names = ["@leasehold/core", "@leasehold/sql"].flatMap((name) => ["--workspace", name]);
  if (!run(["npx", "tsc", "-b", "packages/sql"], REPOSITORY)) return [];
  if (!run(["npm", "pack", "--pack-destination", folder, ...names], REPOSITORY)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => join(folder, name));
}

/** Copies the example and installs it. Returns its folder. @throws if that fails. */
function installExample(name: string, packages: readonly string[]): string {
  const example = join(folder, name);
  cpSync(join(REPOSITORY, "examples/orms"), example, { recursive: true });
  if (!install(example, ...packages)) throw new Error(`examples/orms cannot be installed with ${packages.join(" ")}.`);
  return example;
}

/** Installs the part of the example for Prisma, and the program of its page beside it. */
function installPrisma(example: string): void {
  const prisma = join(example, "prisma");
  const page = readFileSync(join(REPOSITORY, "packages/sql/orms/prisma.md"), "utf8");
  writeFileSync(join(prisma, "page.ts"), /```ts\n(.*?)```/s.exec(page)?.[1] ?? "");
  writeFileSync(join(prisma, "schema.prisma"), /```text \[schema.prisma\]\n(.*?)```/s.exec(page)?.[1] ?? "");
  // Any path will do for the engine that `generate` would download and not use.
  const noEngine = { PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true" };
  if (!install(prisma) || !run(["npm", "run", "generate"], prisma, noEngine)) throw new Error("Prisma has generated no client.");
}

/** Runs programs of an installed example. Each has to refuse the bill of a frozen leader. Returns true if all do. */
async function runExample(example: string, programs: readonly string[]): Promise<boolean> {
  const server = await startPostgres();
  let isRight = true;
  try {
    for (const program of programs) {
      const env = { DATABASE_URL: await createDatabase(server.url, basename(program)), LEASE_DURATION_MS: "12000" };
      run([process.execPath, "src/prepare.ts"], example, env);
      // A program of a page writes one bill, and has no leader that freezes.
      const isPage = program.endsWith("page.ts");
      if (isPage) run([process.execPath, program], example, env);
      const found = isPage
        ? await termsOf(env.DATABASE_URL)
        : await freezeBill({ folder: example }, [process.execPath, program], env);
      const outcome = isDeepStrictEqual(found, isPage ? [1] : REFUSED) ? "right" : JSON.stringify(found);
      console.log(`${basename(example)}/${program}: ${outcome}`);
      isRight &&= outcome === "right";
    }
  } finally {
    await server.stop();
  }
  return isRight;
}

const tarballs = packed();
const drivers = join(folder, "drivers");
mkdirSync(drivers);
writeFileSync(join(drivers, "package.json"), "{}");
if (tarballs.length === 0 || !install(drivers, ...(given.length > 0 ? given : OLDEST))) process.exit(1);
const newest = installExample("newest", tarballs);
installPrisma(newest);
const oldest = installExample("oldest", [...tarballs, ...Object.values(OLDEST_ORMS)]);

const env = { LEASEHOLD_DRIVERS: drivers };
const vitest = ["npx", "vitest", "run", "--project", "sql", "--project", "sql-libraries"];
const outcomes = [
  await runExample(newest, ["prisma/prisma.ts", "prisma/page.ts"]),
  await runExample(
    oldest,
    Object.keys(OLDEST_ORMS).map((orm) => `src/${orm}.ts`),
  ),
  run([...vitest, "sql/test/drivers", "sql/test/libraries"], REPOSITORY, env),
  run([...vitest, "--mode", "long", "sql/test/drivers", "libraries/conformance"], REPOSITORY, env),
];
process.exit(outcomes.every(Boolean) ? 0 : 1);
