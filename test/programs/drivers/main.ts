/**
 * `npm run drivers`: runs the tests of drivers and ORMs of `packages/sql` with the oldest version of each that Leasehold takes. It also
 * generates a client of Prisma, and runs its test. It installs them from npm into a temporary folder. `-- postgres@3.4.3 mariadb@3.1.0` names
 * the versions. It also runs the code of orms.md beside the packed packages and the ORMs of the repository's versions. The exit
 * code is 1 if anything fails.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@leasehold/test-kit/backends/postgres";

/**
 * The versions with which the table of packages/sql/README.md begins. better-sqlite3 has prebuilt binaries in its package since 13. The
 * ORMs find `pg` and `mysql2` beside them.
 */
const OLDEST = [
  "postgres@3.4.7",
  "@electric-sql/pglite@0.3.0",
  "@neondatabase/serverless@1.0.0",
  "mariadb@3.2.0",
  "better-sqlite3@13.0.0",
  "libsql@0.4.0",
  "drizzle-orm@0.36.0",
  "knex@2.0.0",
  "kysely@0.27.0",
  "typeorm@0.3.0",
  "pg@8.23.1",
  "mysql2@3.24.5",
];
const PRISMA = ["prisma@7.10.0", "@prisma/client@7.10.0", "@prisma/adapter-pg@7.10.0"];

const SCHEMA = `generator client {
  provider = "prisma-client-js"
}
datasource db {
  provider = "postgresql"
}
model bills {
  election String @id
}
`;
const OPEN = `import { PrismaPg } from "@prisma/adapter-pg";
import client from "@prisma/client";
export const open = (connectionString) => new client.PrismaClient({ adapter: new PrismaPg({ connectionString }) });
`;

const ORMS = join(import.meta.dirname, "../../../packages/sql/test/orms");
/** The clients in {@link ORMS}, with the driver below them. */
const CLIENTS = ["drizzle-orm", "knex", "kysely", "pg", "sequelize", "typeorm"];

const given = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "leasehold-drivers-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const [drivers, user] = [join(folder, "drivers"), join(folder, "user")];
const prisma = join(user, "open.mjs");

/** Runs a program with this process's output. Returns true if it succeeded. */
function run(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): boolean {
  const [program = "", ...rest] = args;
  return spawnSync(program, rest, { cwd, stdio: "inherit", env: { ...process.env, ...env } }).status === 0;
}

function install(packages: readonly string[], into: string, ...more: readonly string[]): boolean {
  mkdirSync(into, { recursive: true });
  writeFileSync(join(into, "package.json"), "{}");
  return run(["npm", "install", "--no-audit", "--no-fund", "--legacy-peer-deps", ...more, ...packages], into);
}

/** Returns the paths of the packages as npm would publish them. */
function packed(): readonly string[] {
  const names = ["@leasehold/core", "@leasehold/sql"].flatMap((name) => ["--workspace", name]);
  if (!run(["npx", "tsc", "-b", "packages/sql"], process.cwd())) return [];
  if (!run(["npm", "pack", "--pack-destination", folder, ...names], process.cwd())) return [];
  return readdirSync(folder).filter((name) => name.endsWith(".tgz"));
}

/**
 * Makes the folder of a user: the packed packages, the ORMs, and a generated client of Prisma. The engines that Prisma's packages
 * download are not needed by a client with an adapter.
 */
function prepare(): boolean {
  const manifest = readFileSync(join(ORMS, "../../package.json"), "utf8");
  const { devDependencies } = JSON.parse(manifest) as { readonly devDependencies: Readonly<Record<string, string>> };
  const tarballs = packed().map((name) => join(folder, name));
  const clients = CLIENTS.map((name) => `${name}@${devDependencies[name]}`);
  if (tarballs.length === 0 || !install([...tarballs, ...clients, ...PRISMA], user, "--ignore-scripts")) return false;
  writeFileSync(join(user, "schema.prisma"), SCHEMA);
  writeFileSync(prisma, OPEN);
  const noEngine = { PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true" };
  return run(["npx", "prisma", "generate", "--schema", "schema.prisma"], user, noEngine);
}

/** Runs the code of orms.md in the folder of a user. */
async function runAsInstalled(): Promise<boolean> {
  const orms = join(user, "orms");
  cpSync(ORMS, orms, { recursive: true });
  const server = await startPostgres();
  try {
    return run([process.execPath, join(orms, "installed.ts"), server.url, prisma], user);
  } finally {
    await server.stop();
  }
}

if (!install(given.length > 0 ? given : OLDEST, drivers) || !prepare()) process.exit(1);
const env = { LEASEHOLD_DRIVERS: drivers, LEASEHOLD_PRISMA: prisma };
const vitest = ["npx", "vitest", "run", "--project", "sql", "--project", "sql-libraries"];
const outcomes = [
  await runAsInstalled(),
  run([...vitest, "sql/test/drivers", "sql/test/orms", "sql/test/libraries"], process.cwd(), env),
  run([...vitest, "--mode", "long", "sql/test/drivers", "libraries/conformance"], process.cwd(), env),
];
process.exit(outcomes.every(Boolean) ? 0 : 1);
