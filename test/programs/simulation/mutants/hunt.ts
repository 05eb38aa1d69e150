import { runMutant } from "@leasehold/test-kit/mutants/known-mutants";
import type { Hunted, Seeds } from "../seeds.ts";
import { isQuorum, STORE_KINDS } from "../stores/stores.ts";
import { MUTANTS, type Mutant } from "./mutants.ts";

/**
 * The stores for a bug that names none. Queues are left out, because other bugs show there. Quorums, Redis, Kubernetes and objects
 * are left out, because they hide none of these bugs.
 */
const LEFT_OUT: ReadonlySet<string> = new Set(["etcd", "redis", "kubernetes", "objects"]);
const WITHOUT_QUEUES = STORE_KINDS.filter((kind) => !LEFT_OUT.has(kind) && !isQuorum(kind));

/** The result of the hunt for one bug. */
export interface Hunt extends Hunted {
  readonly mutant: Mutant;
}

/** Hunts one bug, in a process of its own whose sources contain it. */
export async function huntMutant(mutant: Mutant, seeds: Seeds): Promise<Hunt> {
  const orders = { ...seeds, stores: mutant.stores ?? WITHOUT_QUEUES, alone: mutant.alone };
  const found = await runMutant(mutant, new URL("./hunt-one.ts", import.meta.url), [JSON.stringify(orders)]);
  return { mutant, ...(JSON.parse(found) as Hunted) };
}

/** Hunts all bugs, several at a time. */
export async function huntMutants(seeds: Seeds, atATime: number): Promise<Hunt[]> {
  const hunts = new Map<Mutant, Hunt>();
  const waiting = [...MUTANTS];
  const hunt = async (): Promise<void> => {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) hunts.set(mutant, await huntMutant(mutant, seeds));
  };
  await Promise.all(Array.from({ length: atATime }, hunt));
  return MUTANTS.map((mutant) => hunts.get(mutant) as Hunt);
}

/** Returns the hunts as a table in Markdown. */
export function printMutants(hunts: readonly Hunt[]): string {
  const rows = hunts.map(({ mutant: { rule, bug }, runs, invariant }) => [
    rule,
    bug,
    invariant ?? "NOT CAUGHT",
    runs.toLocaleString("en-US"),
  ]);
  return [["rule", "the bug", "caught as", "runs"], ["---", "---", "---", "---:"], ...rows]
    .map((row) => `| ${row.join(" | ")} |\n`)
    .join("");
}
