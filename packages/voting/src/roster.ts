import { createHash } from "node:crypto";
import { ConfigurationError } from "@leasehold/core";
import { areTexts, isFlag, isText } from "./message-shapes.ts";

/** The list of servers, as one server stores it on its disk. */
export interface Roster {
  readonly server: string;
  readonly names: readonly string[];
  /** The other servers that it has met with the same list. */
  readonly met: readonly string[];
  /** The server has taken part with this list. */
  readonly hasBegun: boolean;
}

/** The names that only one of two lists has. */
export interface Difference {
  readonly more: readonly string[];
  readonly less: readonly string[];
}

/** Returns a hash of all names. Servers with different hashes do not work together. */
export function clusterOf(names: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(names.toSorted())).digest("hex");
}

export function differenceOf(names: readonly string[], others: readonly string[]): Difference {
  const without = (list: readonly string[], other: readonly string[]) => list.filter((name) => !other.includes(name));
  return { more: without(names, others), less: without(others, names) };
}

export function distanceOf({ more, less }: Difference): number {
  return more.length + less.length;
}

/** A difference in words, such as "has d and lacks c". */
export function inWords({ more, less }: Difference): string {
  const parts = [more.length > 0 ? `has ${more.join(", ")}` : "", less.length > 0 ? `lacks ${less.join(", ")}` : ""];
  return parts.filter(Boolean).join(" and ");
}

/**
 * Returns the roster with which a server begins. `isMoved` means that the server has a file, and has not taken part with this
 * list yet. Its file may lack what the others of this list know.
 *
 * @throws {ConfigurationError} if the server may not begin with this list; see {@link checkChange}.
 */
export function rosterAtStart(
  kept: Roster | undefined,
  started: Pick<Roster, "server" | "names">,
  directory: string,
): { readonly roster: Roster; readonly isMoved: boolean } {
  if (kept) checkChange(kept, started, directory);
  const isSame = kept !== undefined && clusterOf(kept.names) === clusterOf(started.names);
  const roster = { ...started, met: isSame ? kept.met : [], hasBegun: isSame && kept.hasBegun };
  return { roster, isMoved: kept !== undefined && !roster.hasBegun };
}

/**
 * Checks that a server whose file is from another list may begin with this one. Majorities of two lists that differ by one server
 * have a server in common. Majorities of lists that differ by more may have none. The server must have taken part with the list
 * of its file. Only then does it know what was decided with the list before that one.
 *
 * @throws {ConfigurationError} that says what has to be done first.
 */
function checkChange(kept: Roster, { server, names }: Pick<Roster, "server" | "names">, directory: string): void {
  if (kept.server !== server) {
    throw new ConfigurationError(
      `stateDirectory ${directory} belongs to the server '${kept.server}', and this is '${server}': give each server its own.`,
    );
  }
  const difference = differenceOf(names, kept.names);
  if (distanceOf(difference) === 0) return;
  const missing = names.filter((name) => kept.names.includes(name) && name !== server && !kept.met.includes(name));
  const first = "with the list of before: start all servers with that one first.";
  const problem =
    distanceOf(difference) > 1
      ? "Add or remove one server at a time, on all of them before the next."
      : !kept.hasBegun
        ? `It has not taken part ${first}`
        : missing.length > 0
          ? `It has not met ${missing.join(", ")} ${first}`
          : undefined;
  if (problem === undefined) return;
  const was = `This server worked with ${kept.names.join(", ")} before; the list ${inWords(difference)} now.`;
  throw new ConfigurationError(`${was} ${problem}`);
}

/** Parses a roster; undefined if the text is none. */
export function asRoster(line: string): Roster | undefined {
  try {
    const { server, names, met, hasBegun } = JSON.parse(line) as Roster;
    const isOne = isText(server) && areTexts(names) && areTexts(met) && isFlag(hasBegun);
    return isOne ? { server, names, met, hasBegun } : undefined;
  } catch {
    return undefined;
  }
}
