import { readFile } from "node:fs/promises";

const PAGES = ["deploying", "asking"].map((name) => new URL(`../../../site/pages/${name}.md`, import.meta.url));

/**
 * Returns the blocks of the pages about deploying below a heading, in one language, in their order.
 * @throws if there is none.
 */
export async function documentedBlocks(heading: string, language: string): Promise<readonly string[]> {
  const texts = await Promise.all(PAGES.map(async (page) => await readFile(page, "utf8")));
  const sections = texts.flatMap((text) => text.split(/^## /m));
  const section = sections.find((each) => each.startsWith(`${heading}\n`)) ?? "";
  const blocks = [...section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) => block);
  if (blocks.length === 0) throw new Error(`There is no block in ${language} below '${heading}'.`);
  return blocks;
}
