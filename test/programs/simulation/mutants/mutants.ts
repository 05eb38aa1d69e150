import { readdirSync, readFileSync } from "node:fs";
import type { Alone } from "../seeds.ts";
import type { StoreKind } from "../stores/stores.ts";

/** A change of one source file. The file contains `find` exactly once. */
export interface Patch {
  /** The path from the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A bug that the simulation has to catch. */
export interface Mutant {
  readonly name: string;
  /** The invariant that it breaks, by its name in ARCHITECTURE.md. */
  readonly rule: string;
  /** The bug, for people. */
  readonly bug: string;
  readonly patches: readonly Patch[];
  /** The number of runs in which it has to be caught. */
  readonly within: number;
  /** The first seed of the test. Any seed would do, but hundreds of runs take a while. */
  readonly from: number;
  /** The stores on which it can show. All by default. */
  readonly stores?: readonly StoreKind[] | undefined;
  /** The part among which it is hunted, without electors. */
  readonly alone?: Alone | undefined;
}

const HEAD =
  /^@ (?<name>\S+) within (?<within>\d+)(?: from (?<from>\d+))?(?: on (?<stores>.+))?(?: among (?<alone>.+))?\n(?<bug>.+)\n/;
/** A path, the lines to find, and the lines that replace them. Without a path it is the one before. */
const PATCH = /(?:^(?<file>packages\/.+)\n)?(?<find>(?:^-.*\n)+)(?<replace>(?:^\+.*\n)*)/gm;

/** The bugs of `*.diff` beside this file. Each has to exist. */
export const MUTANTS: readonly Mutant[] = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".diff"))
  .flatMap((name) => readMutants(readFileSync(new URL(name, import.meta.url), "utf8")));

function readMutants(text: string): Mutant[] {
  return text.split(/^rule: /m).flatMap((part) => {
    const [rule = "", ...bugs] = part.split(/\n+(?=@ )/);
    return bugs.map((bug) => readMutant(rule, `${bug.trimEnd()}\n`));
  });
}

function readMutant(rule: string, text: string): Mutant {
  const head = HEAD.exec(text);
  const patches = [...text.matchAll(PATCH)];
  if (!head?.groups || [head, ...patches].reduce((sum, [{ length }]) => sum + length, 0) !== text.length) {
    throw new SyntaxError(`This is no mutant: ${text}`);
  }
  const { name = "", within, from = 1, bug = "", stores, alone } = head.groups;
  let path = "";
  return {
    name,
    rule,
    bug,
    within: Number(within),
    from: Number(from),
    stores: stores?.split(", ") as StoreKind[] | undefined,
    alone: alone as Alone | undefined,
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
