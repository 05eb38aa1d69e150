import { ExampleProcess } from "@leasehold/test-kit/processes/example-process";
import { reachesState } from "@leasehold/test-kit/processes/process-state";
import { Client } from "pg";

/** The output of a leader that froze before its second bill, and the terms of all bills in the order of their writes. */
export interface FrozenBill {
  readonly lines: readonly unknown[];
  readonly terms: readonly number[];
}

/** The outcome of {@link freezeBill} that each ORM must have. */
export const REFUSED: FrozenBill = {
  lines: ["campaigns", "term 1: wrote bill 1", "the database refused the bill: another process leads"],
  terms: [1, 2, 2, 2],
};

/**
 * Runs a program of examples/orms twice on a database that `prepare-database` has prepared. The first process freezes before its
 * second bill. It continues once the second process has led and ended.
 */
export async function freezeBill(
  example: { readonly folder: string },
  command: readonly [string, ...string[]],
  env: { readonly DATABASE_URL: string; readonly LEASE_DURATION_MS: string },
): Promise<FrozenBill> {
  // The output then has errors alone on stderr.
  await using first = new ExampleProcess(example, command, { ...env, NODE_NO_WARNINGS: "1", FREEZE_AT: "2" });
  await first.said("wrote bill 1");
  await reachesState(first.pid, "stopped", "gone");
  await using second = new ExampleProcess(example, command, env);
  await second.said("wrote bill 3");
  await second.ended;
  first.thaw();
  await first.ended;
  const lines = [...first.lines.map(({ msg }) => msg), ...first.stderr.split("\n").filter(Boolean)];
  return { lines, terms: await termsOf(env.DATABASE_URL) };
}

/** Returns the terms of the bills in a database, in the order of their writes. */
export async function termsOf(url: string): Promise<readonly number[]> {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ term: number }>("SELECT term FROM bills ORDER BY id");
    return rows.map(({ term }) => term);
  } finally {
    await client.end();
  }
}

/** Makes a database on a server, as a copy of another one. Returns its URL. */
export async function createDatabase(serverUrl: string, name: string, copied = "template1"): Promise<string> {
  const client = new Client(serverUrl);
  await client.connect();
  try {
    await client.query(`CREATE DATABASE "${name}" TEMPLATE "${copied}"`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = name;
  return url.href;
}
