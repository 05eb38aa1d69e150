import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArgumentFacts, AttributeFact, BlockFact, ProviderFacts } from "./provider-facts.ts";

/**
 * Prints the differences between a table and the provider's own bindings, which it installs. The exit code is 1 if there are any.
 */
export function reportDifferences(provider: ProviderFacts & { readonly bindings: string }): void {
  const { differences, compared } = compareWithBindings(provider);
  for (const difference of differences) process.stderr.write(`${difference}\n`);
  const { source, version, boundAt = version, bindings } = provider;
  process.stdout.write(`${source} ${boundAt}: ${compared} facts compared with ${bindings}, ${differences.length} differ\n`);
  if (differences.length > 0) process.exitCode = 1;
}

/**
 * Installs the bindings that were generated from the provider itself, in a temporary folder, and compares the table with them. It
 * compares names, blocks or attributes, types, what is required, how many, and what is exported. It needs a network and 300 MB.
 * @returns the differences, each a line, and how many facts were compared
 */
function compareWithBindings(provider: ProviderFacts & { readonly bindings: string }): {
  differences: string[];
  compared: number;
} {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-bindings-"));
  try {
    // Without their peer, which is not needed for reading, and has another version than ours.
    execFileSync("npm", ["install", "--legacy-peer-deps", "--no-audit", "--no-fund", "--ignore-scripts", provider.bindings], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    });
    const name = provider.bindings.slice(0, provider.bindings.lastIndexOf("@"));
    return compareWithFolder(provider, join(folder, "node_modules", name));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Does the same with bindings that are installed already. */
export function compareWithFolder(provider: ProviderFacts, root: string): { differences: string[]; compared: number } {
  return new Comparison(provider, root).run();
}

interface Source {
  readonly js: string;
  readonly dts: string;
}

class Comparison {
  readonly #provider: ProviderFacts;
  readonly #root: string;
  readonly #differences: string[] = [];
  #compared = 0;

  constructor(provider: ProviderFacts, root: string) {
    this.#provider = provider;
    this.#root = root;
  }

  run(): { differences: string[]; compared: number } {
    const manifest = JSON.parse(readFileSync(join(this.#root, "package.json"), "utf8")) as Record<string, unknown>;
    const { version } = ((manifest["cdktn"] ?? manifest["cdktf"]) as { provider: { version: string } }).provider;
    this.#expect("version of the provider", this.#provider.boundAt ?? this.#provider.version, version);

    const [, name = ""] = this.#provider.source.split("/");
    const own = this.#read("provider");
    // In the bindings all of these are optional, and repeated.
    this.#arguments(`provider.${name}`, this.#provider.configuration, own, "synthesizeHclAttributes", undefined);
    for (const [type, { arguments: args, exports = [] }] of Object.entries(this.#provider.resources)) {
      const source = this.#read(type.replace(`${name}_`, "").replaceAll("_", "-"));
      const config = /export interface (\w+Config) /.exec(source.dts)?.[1];
      this.#arguments(type, args, source, "synthesizeHclAttributes", config);
      for (const attribute of exports) {
        this.#expect(`${type}.${attribute} exported`, true, new RegExp(`get ${camelCase(attribute)}\\(\\)`).test(source.dts));
      }
    }
    return { differences: this.#differences, compared: this.#compared };
  }

  #read(folder: string): Source {
    const at = join(this.#root, "lib", folder);
    return { js: readFileSync(join(at, "index.js"), "utf8"), dts: readFileSync(join(at, "index.d.ts"), "utf8") };
  }

  /** `writer` is the function that writes these arguments, `shape` the interface that says which are required. */
  #arguments(place: string, facts: ArgumentFacts, source: Source, writer: string, shape: string | undefined): void {
    const found = readArguments(source, writer, shape);
    for (const [name, fact] of Object.entries(facts)) {
      const real = found.get(name);
      this.#expect(`${place}.${name} exists`, true, real !== undefined);
      if (real) this.#argument(`${place}.${name}`, fact, real, source, shape !== undefined);
    }
    for (const [name, { required }] of found) {
      if (required) this.#expect(`${place}.${name}, which is required, is there`, name in facts, true);
    }
  }

  #argument(place: string, fact: AttributeFact | BlockFact, real: RealArgument, source: Source, known: boolean): void {
    if (typeof fact === "string") {
      this.#expect(`${place} is`, fact, real.block ? "block" : `${real.required ? "required " : ""}${real.type}`);
      return;
    }
    this.#expect(`${place} is a block`, true, real.block !== undefined);
    if (real.block === undefined) return;
    if (known) {
      this.#expect(`${place} at least`, fact.min ?? 0, real.required ? 1 : 0);
      this.#expect(`${place} at most`, fact.max, real.repeated ? undefined : 1);
    }
    const shape = real.block.charAt(0).toUpperCase() + real.block.slice(1);
    this.#arguments(place, fact.block, source, `function ${real.block}ToHclTerraform`, shape);
  }

  #expect(what: string, ours: unknown, theirs: unknown): void {
    this.#compared += 1;
    if (ours !== theirs) this.#differences.push(`${what}: ${String(ours)} in the table, ${String(theirs)} in the bindings`);
  }
}

interface RealArgument {
  readonly type: string;
  readonly required: boolean;
  /** The name of the function that writes it, if it is a block. */
  readonly block: string | undefined;
  readonly repeated: boolean;
}

const ENTRY =
  /^\s+(?<name>\w+): \{\s+value: (?<value>[^\n]+),\s+isBlock: (?<isBlock>true|false),\s+type: "(?<type>\w+)",\s+storageClassType: "(?<storage>\w+)"/gm;

function readArguments({ js, dts }: Source, writer: string, shape: string | undefined): Map<string, RealArgument> {
  const from = js.indexOf(`${writer}(`);
  const body = from < 0 ? "" : js.slice(from, js.indexOf("// remove undefined attributes", from));
  const declared = shape ? (new RegExp(`export interface ${shape}\\b[^{]*\\{([\\s\\S]*?)\\n\\}`).exec(dts)?.[1] ?? "") : "";
  const found = new Map<string, RealArgument>();
  for (const { groups } of body.matchAll(ENTRY)) {
    const { name = "", value = "", isBlock, type = "", storage = "" } = groups ?? {};
    const simple = storage === "boolean" ? "bool" : storage;
    found.set(name, {
      type: type === "simple" ? simple : type,
      required: new RegExp(`readonly ${camelCase(name)}: `).test(declared),
      block: isBlock === "true" ? /(?<block>\w+)ToHclTerraform\b/.exec(value)?.groups?.["block"] : undefined,
      repeated: value.includes("listMapperHcl("),
    });
  }
  return found;
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
