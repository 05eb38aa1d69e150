import { dirname, join } from "node:path/posix";
import { parseSync } from "vite";

/** One import or re-export of a module. */
export interface Import {
  /** The importing file, relative to the root of the repository. */
  readonly file: string;
  /** The imported file, relative to the root. For a package or a module of Node it is the specifier. */
  readonly module: string;
  /** The imported names. `*` stands for all of them, and `default` for the default export. */
  readonly names: readonly string[];
  /** Only types are imported. */
  readonly isType: boolean;
}

/** The parts of the parser's entries that are read here. */
interface Entry {
  readonly importName: { readonly kind: string; readonly name: string | null };
  readonly isType: boolean;
}

/**
 * Returns the imports of a file. A dynamic import counts if its specifier is a literal.
 * @param file relative to the root of the repository
 * @throws SyntaxError if `source` is not TypeScript.
 */
export function importsOf(file: string, source: string): Import[] {
  const { module, errors } = parseSync(file, source);
  if (errors.length > 0) throw new SyntaxError(`${file}: ${errors[0]!.message}`);
  const found = (specifier: string, entries: readonly Entry[]): Import => ({
    file,
    module: specifier.startsWith(".") ? join(dirname(file), specifier) : specifier,
    names: entries.map(nameOf),
    isType: entries.length > 0 && entries.every(({ isType }) => isType),
  });
  return [
    ...module.staticImports.map(({ moduleRequest, entries }) => found(moduleRequest.value, entries)),
    ...module.staticExports
      .flatMap(({ entries }) => entries)
      .flatMap((entry) => (entry.moduleRequest ? found(entry.moduleRequest.value, [entry]) : [])),
    ...module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
      const specifier = /^["'](.*)["']$/.exec(source.slice(start, end))?.[1];
      return specifier === undefined ? [] : { ...found(specifier, []), names: ["*"] };
    }),
  ];
}

function nameOf({ importName: { kind, name } }: Entry): string {
  return kind === "Default" ? "default" : (name ?? "*");
}
