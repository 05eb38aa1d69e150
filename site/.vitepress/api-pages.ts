import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { doorsOf, publicPackages, type Door, type Export, type Line } from "../../test/programs/api/report.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = new URL("../reference/", import.meta.url);

/** The packages of which there is a page at `/reference/NAME`. Constructs are documented by their READMEs. */
export const API_PACKAGES = publicPackages(root)
  .filter((each) => each.startsWith("packages/"))
  .map((each) => each.slice("packages/".length));

/** Writes the API reference of each package, from the types and the doc comments of its exports. */
export async function writeApiPages(): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of API_PACKAGES) {
    const page = apiPage(name, doorsOf(root, `packages/${name}`));
    await writeFile(new URL(`${name}.md`, folder), page);
  }
}

/** Returns the page of a package. Each entry point is a section, and each name in it has a heading. */
export function apiPage(name: string, doors: readonly Door[]): string {
  const sections = doors.flatMap(({ specifier, exports }) => [`## ${specifier}`, ...exports.flatMap(exportOf)]);
  return `${[`# API: ${name}`, "Written from the types and the doc comments, when the site is built.", ...sections].join("\n\n")}\n`;
}

function exportOf({ name, heads, members }: Export): string[] {
  const signatures = ["```ts", ...heads.map(({ signature }) => signature), "```"].join("\n");
  const docs = heads.map(({ doc }) => proseOf(doc)).filter((doc) => doc !== "");
  return [`### ${name}`, ...docs, signatures, ...(members.length === 0 ? [] : [membersOf(members)])];
}

function membersOf(members: readonly Line[]): string {
  const rows = members.map(({ signature, doc }) => {
    const cell = proseOf(doc.replaceAll(/@example[\s\S]*/g, "")).replaceAll(/\s+/g, " ");
    const short = signature.replace(/^readonly /, "").replace(/(\?: .+) \| undefined$/, "$1");
    return `| \`${short.replaceAll("|", "\\|")}\` | ${cell.replaceAll("|", "\\|")} |`;
  });
  return ["| member | |", "| --- | --- |", ...rows].join("\n");
}

/** Returns a doc comment as Markdown. Tags become sentences, and nothing is read as HTML outside of code. */
function proseOf(doc: string): string {
  return doc
    .split(/(```[\s\S]*?```|`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : plainOf(part)))
    .join("")
    .trim();
}

function plainOf(text: string): string {
  return text
    .replaceAll(/\{@link (\S+?)\}/g, "`$1`")
    .replaceAll(/\{@link \S+? ([^}]+)\}/g, "$1")
    .replaceAll(/(\{\w+Error\})\s(?=\{\w+Error\})/g, "$1 or ")
    .replaceAll(/@throws \{([^}]+)\}/g, "\nThrows `$1`")
    .replaceAll(/(?<= or )\{(\w+Error)\}/g, "`$1`")
    .replaceAll(/\{(\w+Error)\}/g, "Throws `$1`")
    .replaceAll(/@throws\b/g, "\nThrows")
    .replaceAll(/@defaultValue\b/g, "Default:")
    .replaceAll(/@returns?\b/g, "\nReturns")
    .replaceAll(/@param (\w+)/g, "\n`$1`:")
    .replaceAll(/@(?:example|remarks)\b/g, "")
    .replaceAll("<", "&lt;")
    .replaceAll("{{", "&#123;&#123;");
}
