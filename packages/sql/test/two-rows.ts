import type { Row, SqlWorld } from "./sql-world.ts";

const BOTH = `SELECT l.term AS lease_term, l.term_id AS lease_term_id, l.broken_reason, f.term AS fence_term, f.term_id AS fence_term_id
  FROM leasehold_leases l LEFT JOIN leasehold_fences f ON f.election = l.election WHERE l.election = ? AND l.version <> ''`;

/** Returns how the two rows of an election contradict each other, read at one moment; `undefined` if they agree. */
export async function disagreement(world: SqlWorld): Promise<string | undefined> {
  // A reader of both files has to lock them, because each is a database of its own.
  if (world.kind === "sqlite") await world.run("BEGIN IMMEDIATE");
  const [row] = await world.run(BOTH, [world.name()]);
  if (world.kind === "sqlite") await world.run("ROLLBACK");
  if (!row) return undefined;
  const { lease, fence } = termsOf(row);
  return lease === fence ? undefined : `the lease is ${lease} and the fence ${fence}`;
}

function termsOf(row: Row): { readonly lease: string; readonly fence: string } {
  const text = (name: string): string => {
    const value = row[name];
    return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
  };
  const open = row["broken_reason"] === null ? text("lease_term_id") : "null";
  return { lease: `${text("lease_term")}:${open}`, fence: `${text("fence_term")}:${text("fence_term_id")}` };
}
