/**
 * `npm run drivers`: runs the tests of drivers and ORMs of `packages/sql` with the oldest version of each that Leasehold takes. It also
 * generates a client of Prisma, and runs its test. It installs them from npm into a temporary folder. `-- postgres@3.4.3 mariadb@3.1.0` names
 * the versions. The exit code is 1 if anything fails.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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

const given = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "leasehold-drivers-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const [drivers, prisma] = [join(folder, "drivers"), join(folder, "prisma")];

/** Runs a program with this process's output. Returns true if it succeeded. */
function run(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): boolean {
  const [program = "", ...rest] = args;
  return spawnSync(program, rest, { cwd, stdio: "inherit", env: { ...process.env, ...env } }).status === 0;
}

function install(packages: readonly string[], into: string, ...more: readonly string[]): boolean {
  mkdirSync(into);
  writeFileSync(join(into, "package.json"), "{}");
  return run(["npm", "install", "--no-audit", "--no-fund", "--legacy-peer-deps", ...more, ...packages], into);
}

/** Generates a client of Prisma. The engines that its packages download are not needed by a client with an adapter. */
function generate(): boolean {
  if (!install(PRISMA, prisma, "--ignore-scripts")) return false;
  writeFileSync(join(prisma, "schema.prisma"), SCHEMA);
  writeFileSync(join(prisma, "open.mjs"), OPEN);
  const noEngine = { PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true" };
  return run(["npx", "prisma", "generate", "--schema", "schema.prisma"], prisma, noEngine);
}

if (!install(given.length > 0 ? given : OLDEST, drivers) || !generate()) process.exit(1);
const env = { LEASEHOLD_DRIVERS: drivers, LEASEHOLD_PRISMA: join(prisma, "open.mjs") };
const vitest = ["npx", "vitest", "run", "--project", "sql", "--project", "sql-libraries"];
const outcomes = [
  run([...vitest, "sql/test/drivers", "sql/test/orms", "sql/test/libraries"], process.cwd(), env),
  run([...vitest, "--mode", "long", "sql/test/drivers", "libraries/conformance"], process.cwd(), env),
];
process.exit(outcomes.every(Boolean) ? 0 : 1);
