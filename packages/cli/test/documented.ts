import { readFile } from "node:fs/promises";

const DEPLOYING = new URL("../../../site/pages/deploying.md", import.meta.url);

/**
 * Returns the blocks of site/pages/deploying.md below a heading, in one language, in their order.
 * @throws if there is none.
 */
export async function documentedBlocks(heading: string, language: string): Promise<readonly string[]> {
  const sections = (await readFile(DEPLOYING, "utf8")).split(/^## /m);
  const section = sections.find((each) => each.startsWith(`${heading}\n`)) ?? "";
  const blocks = [...section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) => block);
  if (blocks.length === 0) throw new Error(`There is no block in ${language} below '${heading}'.`);
  return blocks;
}
