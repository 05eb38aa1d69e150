import { createHash } from "node:crypto";
import type { Mutant } from "./mutate.ts";

/**
 * Draws `count` of the mutants by `seed`. The choice depends on the mutant itself, so that edits elsewhere hardly change the
 * sample.
 */
export function drawSample(mutants: readonly Mutant[], count: number, seed: number): Mutant[] {
  const lot = ({ file, from, to, nth }: Mutant): string =>
    createHash("sha256")
      .update(JSON.stringify([seed, file, from, to, nth]))
      .digest("hex");
  const lots = new Map(mutants.map((mutant) => [mutant, lot(mutant)]));
  const drawn = new Set(mutants.toSorted((one, other) => (lots.get(one)! < lots.get(other)! ? -1 : 1)).slice(0, count));
  return mutants.filter((mutant) => drawn.has(mutant));
}
