import { readFileSync } from "node:fs";

/** A change that no program can tell from the original. */
export interface KnownEquivalent {
  /** The path from the root of the repository. */
  readonly file: string;
  /** The line, and the changed line, as `npm run mutants` shows them. */
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

/** The mutants of `known-equivalents.diff`, which no test can kill. Each has to exist. */
export const KNOWN_EQUIVALENTS: readonly KnownEquivalent[] = [
  ...readEquivalents(readFileSync(new URL("known-equivalents.diff", import.meta.url), "utf8")),
];

/** A path comes first, then a reason, then the line, then each change of it. Each counts until the next of its kind. */
function* readEquivalents(text: string): Generator<KnownEquivalent> {
  let [file, why, from] = ["", "", ""];
  for (const line of text.split("\n")) {
    const rest = line.slice(1);
    if (line.startsWith("+")) yield { file, from, to: rest, why };
    else if (line.startsWith("-")) from = rest;
    else if (line.startsWith("#")) why = rest.trim();
    else if (line !== "") file = line;
  }
}
