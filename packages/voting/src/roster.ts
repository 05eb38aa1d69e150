import { createHash } from "node:crypto";
import { ConfigurationError } from "@leasehold/core";

/** Which servers there are, as one of them knows it. */
export interface Roster {
  /** The server that keeps this. */
  readonly server: string;
  readonly names: readonly string[];
  /** Those of the others that it has met with the same list. */
  readonly met: readonly string[];
}

/** What two lists do not have in common. */
export interface Difference {
  readonly more: readonly string[];
  readonly less: readonly string[];
}

/** Returns what all names come to: servers that differ in it do not work together. */
export function clusterOf(names: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(names.toSorted())).digest("hex");
}

/** What `names` have more and less than `others`. */
export function differenceOf(names: readonly string[], others: readonly string[]): Difference {
  return {
    more: names.filter((name) => !others.includes(name)),
    less: others.filter((name) => !names.includes(name)),
  };
}

/** By how many servers two lists differ. */
export function distanceOf({ more, less }: Difference): number {
  return more.length + less.length;
}

/** A difference in words: "it has d, and not c". */
export function inWords({ more, less }: Difference): string {
  const parts = [more.length > 0 ? `has ${more.join(", ")}` : "", less.length > 0 ? `lacks ${less.join(", ")}` : ""];
  return parts.filter(Boolean).join(" and ");
}

/**
 * Checks that a server whose file is from another list may begin with this one: majorities of two lists that differ by one
 * server have one in common, and those of lists further apart need not.
 *
 * @throws {ConfigurationError} that says what has to be done first.
 */
export function checkChange(kept: Roster, { server, names }: Omit<Roster, "met">, directory: string): void {
  if (kept.server !== server) {
    throw new ConfigurationError(
      `stateDirectory ${directory} belongs to the server '${kept.server}', and this is '${server}': give each server its own.`,
    );
  }
  const difference = differenceOf(names, kept.names);
  if (distanceOf(difference) === 0) return;
  const was = `This server worked with ${kept.names.join(", ")} before; the list ${inWords(difference)} now.`;
  if (distanceOf(difference) > 1) {
    throw new ConfigurationError(`${was} Add or remove one server at a time, on all of them before the next.`);
  }
  const missing = names.filter((name) => kept.names.includes(name) && name !== server && !kept.met.includes(name));
  if (missing.length === 0) return;
  throw new ConfigurationError(
    `${was} It has not met ${missing.join(", ")} with the list of before: start all servers with that one first.`,
  );
}

/** Reads a roster that was kept; undefined where that is none. */
export function asRoster(line: string): Roster | undefined {
  try {
    const { server, names, met } = JSON.parse(line) as Roster;
    return typeof server === "string" && areNames(names) && areNames(met) ? { server, names, met } : undefined;
  } catch {
    return undefined;
  }
}

export function areNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}
