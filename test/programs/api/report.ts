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
  /** The text of each doc comment, by the end of the code before it. */
  readonly docs: ReadonlyMap<number, string>;
}

/** A line of the report, and its doc comment without the frame. */
export interface Line {
  readonly signature: string;
  readonly doc: string;
}

/** An exported name: its own lines, one for each overload, and those of its members. */
export interface Export {
  readonly name: string;
  readonly heads: readonly Line[];
  readonly members: readonly Line[];
}

/** An entry point of a package, for instance `@leasehold/core/testing`. */
export interface Door {
  readonly specifier: string;
  readonly exports: readonly Export[];
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
  const sections = doorsOf(root, folder).map(({ specifier, exports }) => {
    const lines = exports.flatMap(({ heads, members }) => [
      ...heads.map(({ signature }) => signature),
      ...members.map(({ signature }) => `  ${signature}`),
    ]);
    return `# ${specifier}: ${exports.length} names\n\n${lines.join("\n")}\n`;
  });
  return sections.join("\n");
}

/** Returns the entry points of a package, each with its exported names in the order of the alphabet. */
export function doorsOf(root: string, folder: string): Door[] {
  const { name, exports } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly exports: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
  };
  return Object.entries(exports).flatMap(([door, target]) => {
    const file = typeof target === "string" ? undefined : target[SOURCE];
    if (file === undefined) return [];
    const found = namesOf(join(root, folder, file));
    const sorted = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return { specifier: `${name}${door.slice(1)}`, exports: sorted.map(([each, lines]) => ({ name: each, ...lines })) };
  });
}

type Lines = Omit<Export, "name">;

const without = (signature: string): Lines => ({ heads: [{ signature, doc: "" }], members: [] });

/** Returns the exported names of a module, each with its lines. */
function namesOf(path: string): Map<string, Lines> {
  const source = read(path);
  const names = new Map<string, Lines>();
  for (const node of source.body) {
    const { declaration, specifiers, source: from } = node as Node & { declaration?: Node | null; source?: { value: string } };
    if (node.type === "ExportAllDeclaration") for (const [name, lines] of namesOf(resolved(path, from))) names.set(name, lines);
    if (node.type === "ExportDefaultDeclaration") {
      const { heads, members } = linesOf(source, declaration as Node, node.start);
      names.set("default", { heads: heads.map(({ signature, doc }) => ({ signature: `default ${signature}`, doc })), members });
    }
    if (node.type !== "ExportNamedDeclaration") continue;
    if (declaration) for (const name of declaredNames(declaration)) names.set(name, localLines(source, name));
    for (const { local, exported } of (specifiers ?? []) as readonly Record<"local" | "exported", { name: string }>[]) {
      names.set(exported.name, from ? foundIn(path, from.value, local.name) : imported(source, local.name));
    }
  }
  return names;
}

/** Returns the lines of a name of the module at `specifier`. Only a name of another package stays a reference. */
function foundIn(path: string, specifier: string, name: string): Lines {
  if (!specifier.startsWith(".")) return without(`${name} from "${specifier}"`);
  const file = join(dirname(path), specifier);
  return namesOf(file).get(name) ?? localLines(read(file), name);
}

/** Returns the lines of a local name, which may be an imported one. */
function imported(source: Source, name: string): Lines {
  for (const node of source.body) {
    if (node.type !== "ImportDeclaration") continue;
    const specifiers = node["specifiers"] as readonly (Node & { local: { name: string }; imported?: { name: string } })[];
    const found = specifiers.find(({ local }) => local.name === name);
    const from = (node["source"] as { value: string }).value;
    if (found) return foundIn(source.path, from, found.imported?.name ?? "default");
  }
  return localLines(source, name);
}

/** Returns the lines of a declared name: several heads if a function is overloaded. */
function localLines(source: Source, name: string): Lines {
  const declarations = source.body
    .map((node) => ({ node: ((node as { declaration?: Node | null }).declaration ?? node) as Node, start: node.start }))
    .filter(({ node }) => declaredNames(node).includes(name));
  const isOverloaded = declarations.some(({ node }) => node.type === "TSDeclareFunction");
  const found = declarations
    .filter(({ node }) => !isOverloaded || node.type === "TSDeclareFunction")
    .map(({ node, start }) => linesOf(source, node, start));
  return { heads: found.flatMap(({ heads }) => heads), members: found.flatMap(({ members }) => members) };
}

function declaredNames(node: Node): string[] {
  const { id, declarations } = node as Node & {
    id?: { name: string } | null;
    declarations?: readonly { id: { name: string } }[];
  };
  if (node.type === "VariableDeclaration") return (declarations ?? []).map((one) => one.id.name);
  return id?.name === undefined ? [] : [id.name];
}

/** Returns the lines of a declaration. Its comment stands before `start`, where an `export` may be. */
function linesOf({ text, docs }: Source, node: Node, start: number): Lines {
  const { body, declarations } = node as Node & { body?: Node & { body: readonly Node[] }; declarations?: readonly Node[] };
  const words = (from: number, to: number): string =>
    text
      .slice(from, to)
      .replaceAll(/\s+/g, " ")
      .replace(/[;,]? ?$/, "");
  const docAt = (position: number): string => docs.get(text.slice(0, position).trimEnd().length) ?? "";
  const head = (signature: string): readonly Line[] => [{ signature, doc: docAt(start) }];
  if (node.type === "VariableDeclaration") {
    return { heads: head(`const ${valueOf(words, (declarations ?? [])[0] as Node)}`), members: [] };
  }
  if (!body) return { heads: head(words(node.start, node.end)), members: [] };
  const heads = head(words(node.start, body.start).replace(/^async /, ""));
  if (node.type !== "ClassDeclaration" && node.type !== "TSInterfaceDeclaration") return { heads, members: [] };
  const members = body.body.flatMap((member) =>
    memberOf(words, member).map((signature) => ({ signature, doc: docAt(member.start) })),
  );
  return { heads, members };
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

const sources = new Map<string, Source>();

/** Returns a source file. Each is parsed once. */
function read(path: string): Source {
  const source = sources.get(path) ?? parsed(path);
  sources.set(path, source);
  return source;
}

function parsed(path: string): Source {
  const original = readFileSync(path, "utf8");
  const { program, comments, errors } = parseSync(path, original);
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]!.message}`);
  let text = original;
  for (const { start, end } of comments) text = text.slice(0, start) + " ".repeat(end - start) + text.slice(end);
  // A comment belongs to what follows it, so it is found by the end of what precedes it.
  const docs = new Map(
    comments
      .filter(({ type, value }) => type === "Block" && value.startsWith("*"))
      .map(({ start, value }) => [
        text.slice(0, start).trimEnd().length,
        value
          .slice(1)
          .replaceAll(/^[ \t]*\*? ?/gm, "")
          .trim(),
      ]),
  );
  return { path, text, body: program.body as unknown as readonly Node[], docs };
}

function resolved(path: string, from: { readonly value: string } | undefined): string {
  return join(dirname(path), from?.value ?? "");
}
