import { execFile, type ExecFileException } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { COMPILE_CACHE } from "../processes/owned-process.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** A change of one source file. The file contains `find` exactly once. */
export interface Patch {
  /** The path from the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A bug of a `*.diff` file, which random runs have to catch. */
export interface KnownMutant {
  readonly name: string;
  /** The rule that it breaks: the last line `rule: …` above it. */
  readonly rule: string;
  /** The bug, for people. */
  readonly bug: string;
  /** The words after the name, for the program that runs it. */
  readonly orders: string;
  readonly patches: readonly Patch[];
}

const HEAD = /^@ (?<name>\S+)(?<orders>.*)\n(?<bug>.+)\n/;
/** A path, the lines to find, and the lines that replace them. Without a path it is the one before. */
const PATCH = /(?:^(?<file>packages\/.+)\n)?(?<find>(?:^-.*\n)+)(?<replace>(?:^\+.*\n)*)/gm;

/** Returns the bugs of the files `*.diff` in a folder. @throws for a bug without a rule, which would not be played. */
export function readKnownMutants(folder: string): readonly KnownMutant[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".diff"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split(/^rule: /m))
    .flatMap((part) => {
      const [rule = "", ...bugs] = part.split(/\n+(?=@ )/);
      if (rule.startsWith("@ ")) throw new SyntaxError(`This mutant stands before the first rule: ${rule}`);
      return bugs.map((bug) => readMutant(rule, `${bug.trimEnd()}\n`));
    });
}

function readMutant(rule: string, text: string): KnownMutant {
  const head = HEAD.exec(text);
  const patches = [...text.matchAll(PATCH)];
  if (!head?.groups || [head, ...patches].reduce((sum, [{ length }]) => sum + length, 0) !== text.length) {
    throw new SyntaxError(`This is no mutant: ${text}`);
  }
  const { name = "", orders = "", bug = "" } = head.groups;
  let path = "";
  return {
    name,
    rule,
    bug,
    orders: orders.trim(),
    patches: patches.map(({ groups: { file = path, find = "", replace = "" } = {} }) => {
      path = file;
      return { file, find: unprefixed(find), replace: unprefixed(replace) };
    }),
  };
}

/** Removes the sign in front of each line, and the last line break. */
function unprefixed(lines: string): string {
  return lines.replaceAll(/^[-+]/gm, "").slice(0, -1);
}

/** Runs a program whose sources contain the bug. Returns its output, also if the program ends with 1 because it found the bug. */
export async function runMutant(mutant: KnownMutant, program: URL, args: readonly string[]): Promise<string> {
  const flags = ["--disable-warning=LeaseholdWarning", "--conditions=@leasehold/source", "--import"];
  const preload = new URL("./patch-sources.ts", import.meta.url).href;
  const env = { ...process.env, NODE_OPTIONS: "", NODE_COMPILE_CACHE: COMPILE_CACHE, LEASEHOLD_MUTANT: JSON.stringify(mutant) };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, preload, fileURLToPath(program), ...args], { env });
    return stdout;
  } catch (error) {
    const { code, stdout } = error as ExecFileException;
    if (code !== 1 || !stdout) throw error;
    return stdout;
  }
}

/** Returns the patches whose text is not exactly once in their file. */
export function strayPatches({ patches }: KnownMutant): readonly Patch[] {
  return patches.filter(({ file, find }) => readFileSync(join(ROOT, file), "utf8").split(find).length !== 2);
}
