import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startPostgres } from "@leasehold/test-kit/backends/postgres";
import { describe } from "vitest";
import { createDatabase, freezeBill, REFUSED, termsOf } from "../../programs/drivers/frozen-bill.ts";
import { LEASE_MS, test as base, TIME_LIMIT_MS, workshop } from "./test.ts";

/** The ORMs of the example, each with the statement that sends its fence. `npm run drivers` runs Prisma. */
const FENCES = {
  drizzle: /await tx\.execute\(.*\);\n/,
  knex: /await trx\.raw\(.*\);\n/,
  kysely: /await trx\.executeQuery\(.*\);\n/,
  sequelize: /await sequelize\.query\(.*\);\n/,
  typeorm: /await manager\.query\(.*\);\n/,
} as const;
const ORMS = Object.keys(FENCES) as ReadonlyArray<keyof typeof FENCES>;

const PAGES = join(import.meta.dirname, "../../../packages/sql");
/** The type of the page's program is checked with the options of the example. */
const TSCONFIG = { extends: "../tsconfig.json", compilerOptions: { rootDir: ".", noEmit: true }, include: ["."] };

const test = base
  /** The installed example, with the programs of the pages, and ours, beside its own. */
  .extend("orms", { scope: "worker" }, async ({}) => {
    const orms = await workshop.install("orms", "build");
    await cp(join(import.meta.dirname, "orms"), join(orms.folder, "ours"), { recursive: true });
    await mkdir(join(orms.folder, "pages"), { recursive: true });
    await writeFile(join(orms.folder, "pages/tsconfig.json"), JSON.stringify(TSCONFIG));
    for (const orm of ORMS) await writeFile(join(orms.folder, `pages/${orm}.ts`), await programOf(orm));
    return orms;
  })
  /** A server whose template has the tables of the example. */
  .extend("server", { scope: "worker" }, async ({ orms }, { onCleanup }) => {
    const server = await startPostgres();
    onCleanup(() => server.stop());
    const env = { DATABASE_URL: await createDatabase(server.url, "prepared") };
    await orms.runWith(env, "npm", "run", "prepare-database");
    return server;
  })
  /** Makes a database with the tables of the example. Returns the environment for it. */
  .extend("prepare", ({ server }) => async (name: string) => ({
    DATABASE_URL: await createDatabase(server.url, name, "prepared"),
    LEASE_DURATION_MS: String(LEASE_MS),
  }));

async function programOf(orm: string): Promise<string> {
  const [, program = ""] = /```ts\n(.*?)```/s.exec(await readFile(join(PAGES, `orms/${orm}.md`), "utf8")) ?? [];
  return program;
}

function flat(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Parses the lines of JSON that a program has printed. */
function linesOf(output: string): unknown[] {
  return output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

describe.concurrent("examples/orms", { timeout: TIME_LIMIT_MS }, () => {
  test.for(ORMS)("the database refuses the bill of a frozen leader, with %s", async (orm, { orms, prepare, expect }) => {
    expect(await freezeBill(orms, ["node", `dist/${orm}.js`], await prepare(orm))).toEqual(REFUSED);
  });

  test.for(ORMS)("that bill is written where the fence is taken away, with %s", async (orm, { orms, prepare, expect }) => {
    const folder = `unfenced-${orm}`;
    const [fence = "no fence"] = FENCES[orm].exec(await orms.read(`dist/${orm}.js`)) ?? [];
    await orms.copyBuild(folder, `${orm}.js`, fence, "");
    const { terms } = await freezeBill(orms, ["node", `${folder}/${orm}.js`], await prepare(folder));
    expect(terms).toEqual([1, 2, 2, 2, 1]);
  });

  test("the README shows what a frozen leader prints", async ({ orms, expect }) => {
    expect(await orms.read("README.md")).toContain(REFUSED.lines.join("\n"));
  });

  test.for(ORMS)("the program of a page runs as it stands, with %s", async (orm, { orms, prepare, expect }) => {
    const env = await prepare(`page-${orm}`);
    await orms.runWith(env, "node", `pages/${orm}.ts`);
    expect(await termsOf(env.DATABASE_URL)).toEqual([1]);
  });

  test("the compiler accepts the programs of the pages", async ({ orms }) => {
    await orms.run("npx", "tsc", "-p", "pages");
  });

  test.for([...ORMS, "prisma"])("a page has the transaction of the example, with %s", async (orm, { orms, expect }) => {
    const [, , end = ""] = (await programOf(orm)).split("\n\n");
    // The last line closes the ORM.
    const transaction = end.split("\n").slice(0, -2).join("\n");
    expect(transaction).toContain("fenceSql");
    expect(flat(await orms.read(orm === "prisma" ? "prisma/prisma.ts" : `src/${orm}.ts`))).toContain(flat(transaction));
  });

  test("each mistake commits nothing or is a hole that the page names, and has a clear error", async ({
    orms,
    prepare,
    expect,
  }) => {
    const told = linesOf(await orms.runWith(await prepare("mistakes"), "node", "ours/mistakes.mjs"));
    const refused = (name: string, error: string, rows = 0, isFenced = false): object => ({
      ...{ name, rows, isFenced },
      error: expect.stringContaining(error) as string,
    });
    const handle = (orm: string): object => refused(`${orm} as a handle`, "This is an ORM or a query builder");
    const connection = (orm: string): object => refused(`fence() with ${orm}`, "send the statement of fenceSql() instead.");
    const hole = (name: string, isFenced = false): object => refused(`hole: ${name}`, "", 1, isFenced);
    expect(told).toEqual([
      ...["Kysely", "Knex", "Drizzle", "TypeORM", "Sequelize"].map(handle),
      ...["Kysely", "Knex", "Drizzle", "Sequelize"].map(connection),
      refused("Kysely, no values", "there is no parameter $1"),
      refused("Knex, placeholders as they are", "Expected 3 bindings, saw 0"),
      refused("Kysely, swallowed", "Transaction was rolled back instead of committed"),
      refused("Knex, swallowed", "current transaction is aborted"),
      refused("Kysely, forgotten await", "current transaction is aborted"),
      hole("Knex, forgotten await"),
      hole("Kysely, swallowed at a savepoint"),
      hole("Knex, swallowed in a nested transaction"),
      hole("Kysely, a write by another connection", true),
      hole("Sequelize, a write without the transaction", true),
    ]);
  });

  test("of three replicas that begin at once, one migrates, and the others wait for it", async ({ orms, prepare, expect }) => {
    const told = linesOf(await orms.runWith(await prepare("migrations"), "node", "ours/migrations.mjs"));
    const outcomes = ["done", "done", "ran"];
    expect(told).toEqual(["Knex", "Drizzle"].map((name) => ({ name, outcomes })));
    const page = flat(await readFile(join(PAGES, "orms.md"), "utf8"));
    const program = flat(await orms.read("ours/migrations.mjs"));
    for (const [, code = ""] of page.matchAll(/```ts (await oncePerOccurrence\(.*?;) ```/g))
      expect(program).toContain(code.replace("await ", "return "));
  });
});
