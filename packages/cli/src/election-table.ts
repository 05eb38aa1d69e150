import type { ListedElection } from "@leasehold/core";
import type { LeaseState } from "@leasehold/core/provider";
import { painter, type Colour } from "./colour.ts";
import { ageOf, barText } from "./snapshots.ts";
import type { ProcessEnvironment } from "./verb.ts";
import { table, textOfLines } from "./table.ts";
import { clipped, printable } from "./text.ts";

const COLOURS: Readonly<Record<LeaseState | "foreign", Colour>> = {
  held: "green",
  ending: "yellow",
  unknown: "yellow",
  foreign: "yellow",
  expired: "red",
  vacant: "red",
};

/** Returns a table of elections: a head, and a line for each. Empty without elections. */
export function electionTable(found: readonly ListedElection[], environment: ProcessEnvironment): string {
  const paint = painter(environment, environment.stdout);
  const [head, ...lines] = table(["ELECTION", "STATE", "TERM", "LEADER", "VALUE", "AGE", "NOTE"], found.map(cellsOf));
  if (head === undefined) return "";
  return textOfLines([paint("dim", head), ...lines.map((line, at) => paint(COLOURS[found[at]?.state ?? "unknown"], line))]);
}

function cellsOf(election: ListedElection): readonly string[] {
  const name = printable(election.election);
  if (election.state === "foreign") return [name, election.state, "", "", "", "", clipped(printable(election.problem))];
  return [
    name,
    election.state,
    String(election.term),
    clipped(printable(election.holder ?? "")),
    clipped(printable(election.value ?? "")),
    ageOf(election),
    clipped(barText(election)),
  ];
}
