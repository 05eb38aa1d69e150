import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DefaultTheme, SiteConfig } from "vitepress";
import { servedText } from "./repository-links.ts";

/** The pages of the small file, for a model with little room: what is needed to choose a store, a call and a fence. */
const SMALL = ["start.md", "concepts.md", "which-call.md", "stores.md", "production.md", "errors.md"];

interface Page {
  /** Its path on the site, with `.md`. */
  readonly path: string;
  readonly title: string;
  readonly text: string;
}

/** Writes every page as Markdown beside its HTML, and `llms.txt`, `llms-full.txt` and `llms-small.txt` for language models. */
export async function writeForModels({ pages, rewrites, srcDir, outDir, site }: SiteConfig<DefaultTheme.Config>): Promise<void> {
  const all = await Promise.all(
    pages.map(async (source): Promise<Page> => {
      const path = rewrites.map[source] ?? source;
      const text = (await readFile(join(srcDir, source), "utf8")).replace(/^---\n[\s\S]*?\n---\n/, "").trim();
      return { path, title: /^# (.+)$/m.exec(text)?.[1] ?? path, text: servedText(text, source, site.base) };
    }),
  );
  const written = all.filter(({ path }) => path !== "index.md").toSorted((one, other) => one.path.localeCompare(other.path));
  for (const { path, text } of written) {
    const file = join(outDir, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${text}\n`);
  }
  const head = `# ${site.title}\n\n> ${site.description}\n`;
  const list = written.map(({ path, title }) => `- [${title}](${site.base}${path})`).join("\n");
  const small = SMALL.flatMap((path) => written.filter((page) => page.path === path));
  await writeFile(join(outDir, "llms.txt"), `${head}\n## Pages\n\n${list}\n`);
  await writeFile(join(outDir, "llms-full.txt"), joined(head, written));
  await writeFile(join(outDir, "llms-small.txt"), joined(head, small));
}

function joined(head: string, pages: readonly Page[]): string {
  return `${[head.trim(), ...pages.map(({ text }) => text)].join("\n\n---\n\n")}\n`;
}
