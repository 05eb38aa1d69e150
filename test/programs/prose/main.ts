/** `npm run prose`: counts the places that break a rule, and fails above the budget. `npm run prose -- PATH …` lists them. */
import { globSync, readFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import { BUDGET, faultsOf, overBudget, WORDS, wordsOf, type Fault } from "./prose.ts";

const root = join(import.meta.dirname, "../../..");
const PROSE = ["**/*.{ts,md}", "{.changeset,.github}/**/*.md"];
const NOT_OURS = new Set(["node_modules", "dist", "cdk.out", "cdktf.out", "coverage", ".results", "reference", "CHANGELOG.md"]);

const { positionals } = parseArgs({ allowPositionals: true });
const paths = positionals.map((path) => relative(root, resolve(path)));
const isListing = paths.length > 0;
const files = globSync(PROSE, { cwd: root, exclude: (path) => path.split(sep).some((part) => NOT_OURS.has(part)) }).filter(
  (file) => !isListing || paths.some((path) => path === "" || file === path || file.startsWith(path + sep)),
);

/**
 * The pages that users read. Examples and constructs are read with their code. Maintainers read the decisions and the seed
 * systems. The SKILL.md of other packages are copies of core's.
 */
const USER_PAGES =
  /^(?:README\.md|site\/pages\/(?!decisions)[^/]+\.md|packages\/(?:core|[^/]+(?!\/SKILL))\/(?:orms\/)?[^/]+\.md)$/;
const counts: Record<Fault["rule"], number> = { begins: 0, long: 0, coined: 0 };
let words = 0;
for (const file of files.toSorted()) {
  const wordsOfPage = USER_PAGES.test(file) ? wordsOf(readFileSync(join(root, file), "utf8")) : 0;
  words += wordsOfPage;
  if (isListing && wordsOfPage > 0) process.stdout.write(`${file}: ${wordsOfPage} words\n`);
  if (wordsOfPage > WORDS.page) fail(`${file} has ${wordsOfPage} words; a page may have ${WORDS.page}.`);
  for (const { rule, line, text } of faultsOf(readFileSync(join(root, file), "utf8"), file.endsWith(".md"))) {
    counts[rule] += 1;
    if (isListing) process.stdout.write(`${file}:${line}: ${rule}: ${text}\n`);
  }
}
process.stdout.write(`${JSON.stringify(counts)}${isListing ? "" : `, of at most ${JSON.stringify(BUDGET)}`}\n`);
process.stdout.write(`${words} words for users, of at most ${WORDS.together}\n`);
if (!isListing) {
  for (const line of overBudget(counts, BUDGET)) fail(line);
  if (words > WORDS.together) fail(`The pages for users have ${words} words; together they may have ${WORDS.together}.`);
}

function fail(line: string): void {
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}
