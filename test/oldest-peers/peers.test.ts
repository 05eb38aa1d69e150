import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { OLDEST, requireHere } from "./peers.ts";

/**
 * No store imports these. The document client belongs to the user's transactions, and has the version of the client. The other one
 * only issues tokens, and no emulator asks for tokens.
 */
const ONLY_TYPES = ["@aws-sdk/lib-dynamodb", "@azure/identity"];

/** The peers of the stores, each with its range. */
const allowed = ["azure-blob", "dynamodb", "firestore", "object-storage", "redis", "sql"].flatMap((name) => {
  const manifest = readFileSync(join(import.meta.dirname, "../../packages", name, "package.json"), "utf8");
  const { peerDependencies } = JSON.parse(manifest) as { readonly peerDependencies: Readonly<Record<string, string>> };
  return Object.entries(peerDependencies).filter(([peer]) => !peer.startsWith("@leasehold/") && !ONLY_TYPES.includes(peer));
});

test("the oldest versions that are installed are those with which the peers' ranges begin", () => {
  const beginnings = Object.fromEntries(allowed.map(([name, range]) => [name, /^\^([\d.]+)/.exec(range)?.[1]]));
  expect(beginnings).toEqual(Object.fromEntries(Object.entries(OLDEST).map(([name, { version }]) => [name, version])));
});

test.each(Object.entries(OLDEST))("%s is the oldest one", async (name, { alias }) => {
  const imported = (await import(name)) as { default: unknown };
  expect(imported.default).toBe(requireHere(alias));
});
