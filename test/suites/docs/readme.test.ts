import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { glob, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Elector, MemoryLeaseStore, timing, type ElectorOptions } from "@leasehold/core";
import { every } from "@leasehold/schedulers/interval";
import { describe, expect, onTestFinished, test } from "vitest";

// The compiler checks the snippets, which are part of this project. These tests check that the documents contain the same text.
const root = new URL("../../../", import.meta.url);
const snippetFolder = new URL("snippets/", import.meta.url);
const documents = [
  "README.md",
  "packages/core/SKILL.md",
  "packages/schedulers/ticks.md",
  ...["core", "azure-blob", "cli", "conformance", "etcd", "fleet", "functions", "opentelemetry", "quorum", "schedulers"].map(
    (name) => `packages/${name}/README.md`,
  ),
  ...["aws", "azure", "gcp"].map((name) => `infra/${name}/README.md`),
  ...[
    "start",
    "concepts",
    "which-call",
    "recipes",
    "schedules",
    "timing",
    "options",
    "quorum",
    "metric-lines",
    "infrastructure",
    "coming-from",
  ].map((name) => `site/pages/${name}.md`),
];

// Snippets of constructs are compiled by other rules, so they are in other folders.
const snippetFiles = [
  ...(await readdir(snippetFolder)).map((name) => new URL(name, snippetFolder)),
  new URL("decorated/schedulers-nestjs.ts", import.meta.url),
  ...["coming-from/advisory-lock", "bench/peers/redlock-5", "bench/peers/dynamodb-lock-client", "bench/peers/etcd3"].map(
    (name) => new URL(`test/programs/${name}.ts`, root),
  ),
  ...(await Array.fromAsync(glob("infra/*/test/readme-snippets.ts", { cwd: fileURLToPath(root) }))).map(
    (file) => new URL(file, root),
  ),
];
const snippets = await Promise.all(snippetFiles.map(async (file) => normalize(await readFile(file, "utf8"))));

describe.each(documents)("%s", (document) => {
  test("every TypeScript block stands, word for word, in a snippet that is compiled", async () => {
    const blocks = codeBlocks(await readFile(new URL(document, root), "utf8"), "ts");
    expect(blocks.length).toBeGreaterThan(0);
    for (const block of blocks) {
      const [imports, code] = splitImports(block);
      const home = snippets.find((snippet) => snippet.includes(code) && imports.every((line) => snippet.includes(line)));
      expect(home, `this block of ${document} stands in no snippet:\n${block}`).toBeDefined();
    }
  });
});

test("every link of a document to a file of the repository leads to one, and to a heading in it", async () => {
  const dead: string[] = [];
  let links = 0;
  for await (const document of glob(
    "{*.md,examples/*.md,site/pages/*.md,{packages,infra,examples,test}/*/*.md,packages/sql/orms/*.md,packages/core/src/*.md}",
    {
      cwd: fileURLToPath(root),
    },
  )) {
    const text = await readFile(new URL(document, root), "utf8");
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const file = new URL(target, new URL(document, root));
      const heading = file.hash.slice(1);
      file.hash = "";
      links += 1;
      if (!existsSync(file) || (heading !== "" && !headingsOf(await readFile(file, "utf8")).includes(heading))) {
        dead.push(`${document}: ${target}`);
      }
    }
  }
  expect(links).toBeGreaterThan(30);
  expect(dead).toEqual([]);
});

test("the table of times is what timing() prints", async () => {
  const [table] = codeBlocks(await readFile(new URL("site/pages/timing.md", root), "utf8"), "text");
  expect(table?.trimEnd()).toBe(String(timing({ leaseDurationMs: 15_000 })));
});

test("the page of options has every option of an Elector, and no other", async () => {
  const page = await readFile(new URL("site/pages/options.md", root), "utf8");
  const onThePage = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
  expect(new Set(onThePage)).toEqual(new Set(optionsOfAnElector()));
});

test("the page of schedules has a row for each policy of Temporal, with options and values that exist", async () => {
  const page = await readFile(new URL("site/pages/schedules.md", root), "utf8");
  const rows = page.slice(page.indexOf("| Temporal"), page.indexOf("\n## ")).split("\n").slice(2);
  const policies =
    "AllowAll Skip BufferOne BufferAll CancelOther TerminateOther catch-up pause unpause failure retry backfill trigger";
  const temporal = rows.map((row) => row.split("|")[1]).join(" ");
  expect(policies.split(" ").filter((policy) => !temporal.includes(policy))).toEqual([]);

  const ours = rows.map((row) => row.split("|")[2]).join(" ");
  const samples = { startWithinMs: 1, catchUp: { atMost: 1, since: "2026-11-20T00:00:00Z" }, pauseOnFailure: false, tries: 1 };
  const schedule = { store: new MemoryLeaseStore(), name: "any", periodMs: 1_000, signal: AbortSignal.abort() };
  const options: readonly object[] = [
    ...Array.from(ours.matchAll(/"(\w+)"/g), ([, overlap]) => ({ overlap })),
    ...Object.entries(samples).map(([name, sample]) => ({ [name]: sample })),
    { tries: 1, backoffMs: 1 },
  ];
  expect(options.flatMap(Object.keys).filter((name) => !ours.includes(name))).toEqual([]);
  for (const option of options) await every({ ...schedule, ...option }, () => undefined).close();
});

test("the first program of the README leads until Ctrl+C, and then frees its lease", async () => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-readme-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const program = fileURLToPath(new URL("readme-first.ts", snippetFolder));
  for (const term of [1, 2]) {
    const worker = spawn(process.execPath, ["--conditions=@leasehold/source", program], { cwd: folder });
    onTestFinished(() => void worker.kill("SIGKILL"));
    const lines: string[] = [];
    for await (const line of createInterface(worker.stdout)) {
      lines.push(line);
      if (line.includes("is billed")) worker.kill("SIGINT");
    }
    expect(lines[0]).toMatch(/^\S+ leads$/);
    // The second program does not wait for the lease of the first one.
    expect(lines[1]).toBe(`term ${term}: customer 1 is billed`);
    expect(lines.at(-1)).toBe("nobody leads");
  }
});

test("the first example of the core package prints what it says", async () => {
  const file = fileURLToPath(new URL("core-readme.ts", snippetFolder));
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@leasehold/source", file]);
  expect(stdout.trim()).toBe("{ elected: true, term: 1, result: 'done in term 1' }");
});

/** Returns the names of the options from the text of the error. */
function optionsOfAnElector(): string[] {
  try {
    void new Elector({ qqq: true } as unknown as ElectorOptions);
  } catch (error) {
    return /There are: (.*)\./.exec((error as Error).message)?.[1]?.split(", ") ?? [];
  }
  return [];
}

/** Returns the headings in the form that GitHub uses for links. */
function headingsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function codeBlocks(markdown: string, language: string): string[] {
  const block = new RegExp(`^\`\`\`${language}(?: \\[.+\\])?\\n([\\s\\S]*?)^\`\`\``, "gm");
  return [...markdown.matchAll(block)].map((match) => match[1] ?? "");
}

function splitImports(block: string): [imports: string[], code: string] {
  const lines = block.split("\n");
  const imports = lines.filter((line) => line.startsWith("import ")).map(normalize);
  return [imports, normalize(lines.filter((line) => !line.startsWith("import ")).join("\n"))];
}

/** Normalizes white space, because snippets are inside functions and have another indentation. */
function normalize(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
