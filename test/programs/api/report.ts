import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "vite";
import type { Node } from "../mutants/syntax-tree.ts";

/** The condition of `exports` that names a source file. */
const SOURCE = "@leasehold/source";

/** A parsed source file, with blanks in place of its comments. */
interface Source {
  readonly path: string;
  readonly text: string;
  readonly body: readonly Node[];
}

/** Returns the folders of the packages that have entry points, relative to the root. */
export function publicPackages(root: string): string[] {
  return globSync("{packages,infra}/*/package.json", { cwd: root })
    .map(dirname)
    .filter((folder) => existsSync(join(root, folder, "src")))
    .toSorted();
}

/** Returns the report of a package: the exported names of each entry point, with their signatures, and without comments. */
export function reportOf(root: string, folder: string): string {
  const { name, exports } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
  };
  const sections = Object.entries(exports).flatMap(([door, target]) => {
    const file = typeof target === "string" ? undefined : target[SOURCE];
    if (file === undefined) return [];
    const found = namesOf(join(root, folder, file));
    const lines = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, signature]) => signature);
    return `# ${name}${door.slice(1)}: ${found.size} names\n\n${lines.join("\n")}\n`;
  });
  return sections.join("\n");
}

/** Returns the exported names of a module, each with its signature. */
function namesOf(path: string): Map<string, string> {
  const source = read(path);
  const names = new Map<string, string>();
  for (const node of source.body) {
    const { declaration, specifiers, source: from } = node as Node & { declaration?: Node | null; source?: { value: string } };
    if (node.type === "ExportAllDeclaration") for (const [name, text] of namesOf(resolved(path, from))) names.set(name, text);
    if (node.type === "ExportDefaultDeclaration") names.set("default", `default ${signaturesOf(source, declaration as Node)}`);
    if (node.type !== "ExportNamedDeclaration") continue;
    if (declaration) for (const name of declaredNames(declaration)) names.set(name, signatureOf(source, name));
    for (const { local, exported } of (specifiers ?? []) as readonly Record<"local" | "exported", { name: string }>[]) {
      names.set(exported.name, from ? foundIn(path, from.value, local.name) : imported(source, local.name));
    }
  }
  return names;
}

/** Returns the signature of a name of the module at `specifier`. Only a name of another package stays a reference. */
function foundIn(path: string, specifier: string, name: string): string {
  if (!specifier.startsWith(".")) return `${name} from "${specifier}"`;
  const file = join(dirname(path), specifier);
  return namesOf(file).get(name) ?? signatureOf(read(file), name);
}

/** Returns the signature of a local name, which may be an imported one. */
function imported(source: Source, name: string): string {
  for (const node of source.body) {
    if (node.type !== "ImportDeclaration") continue;
    const specifiers = node["specifiers"] as readonly (Node & { local: { name: string }; imported?: { name: string } })[];
    const found = specifiers.find(({ local }) => local.name === name);
    const from = (node["source"] as { value: string }).value;
    if (found) return foundIn(source.path, from, found.imported?.name ?? "default");
  }
  return signatureOf(source, name);
}

/** Returns the signatures of a declared name: several if a function is overloaded. */
function signatureOf(source: Source, name: string): string {
  const declarations = source.body
    .map((node) => ((node as { declaration?: Node | null }).declaration ?? node) as Node)
    .filter((node) => declaredNames(node).includes(name));
  const isOverloaded = declarations.some(({ type }) => type === "TSDeclareFunction");
  return declarations
    .filter(({ type }) => !isOverloaded || type === "TSDeclareFunction")
    .map((node) => signaturesOf(source, node))
    .join("\n");
}

function declaredNames(node: Node): string[] {
  const { id, declarations } = node as Node & {
    id?: { name: string } | null;
    declarations?: readonly { id: { name: string } }[];
  };
  if (node.type === "VariableDeclaration") return (declarations ?? []).map((one) => one.id.name);
  return id?.name === undefined ? [] : [id.name];
}

function signaturesOf({ text }: Source, node: Node): string {
  const { body, declarations } = node as Node & { body?: Node & { body: readonly Node[] }; declarations?: readonly Node[] };
  const words = (from: number, to: number): string =>
    text
      .slice(from, to)
      .replaceAll(/\s+/g, " ")
      .replace(/[;,]? ?$/, "");
  if (node.type === "VariableDeclaration") return `const ${valueOf(words, (declarations ?? [])[0] as Node)}`;
  if (!body) return words(node.start, node.end);
  const head = words(node.start, body.start).replace(/^async /, "");
  if (node.type !== "ClassDeclaration" && node.type !== "TSInterfaceDeclaration") return head;
  return [head, ...body.body.flatMap((member) => memberOf(words, member)).map((line) => `  ${line}`)].join("\n");
}

/** Returns the line of a member of a class or an interface; nothing for one that users cannot see. */
function memberOf(words: (from: number, to: number) => string, member: Node): readonly string[] {
  const { key, value, accessibility } = member as Node & {
    key?: Node;
    value?: (Node & { body?: Node }) | null;
    accessibility?: string;
  };
  if (member.type === "StaticBlock" || key?.type === "PrivateIdentifier" || accessibility === "private") return [];
  if (member.type === "PropertyDefinition") return [valueOf(words, member)];
  return [words(member.start, value?.body?.start ?? member.end).replace(/\basync /, "")];
}

/** Returns a variable or a property with its type, or with its value if the value shows the type. */
function valueOf(words: (from: number, to: number) => string, node: Node): string {
  const { id, key, typeAnnotation, init, value } = node as Node &
    Record<"id" | "key" | "typeAnnotation" | "init" | "value", Node | null>;
  const annotation = typeAnnotation ?? (id?.["typeAnnotation"] as Node | undefined);
  return words(node.start, annotation?.end ?? (init ?? value)?.end ?? (key ?? id)?.end ?? node.end);
}

function read(path: string): Source {
  const original = readFileSync(path, "utf8");
  const { program, comments, errors } = parseSync(path, original);
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]!.message}`);
  let text = original;
  for (const { start, end } of comments) text = text.slice(0, start) + " ".repeat(end - start) + text.slice(end);
  return { path, text, body: program.body as unknown as readonly Node[] };
}

function resolved(path: string, from: { readonly value: string } | undefined): string {
  return join(dirname(path), from?.value ?? "");
}
