import type { Lease } from "@leasehold/core/provider";
import type { SqlLeaseStore } from "@leasehold/sql";
import { expect } from "vitest";
import type { SqlWorld } from "./sql-world.ts";

/** Either the server's limit for lock waits ends the call, or the call's own time. */
export const HELD_OFF_ERROR = { code: expect.stringMatching(/^STORE_(CONFLICT|TIMEOUT)$/) as unknown };

export interface Led {
  readonly store: SqlLeaseStore;
  readonly lease: Lease;
}

/** Returns a leader, and makes a table of the user's that it writes to. */
export async function led(world: SqlWorld): Promise<Led> {
  const store = world.store();
  const lease = await world.win(store);
  await world.run("CREATE TABLE IF NOT EXISTS writes (election VARCHAR(100), who VARCHAR(100))");
  return { store, lease };
}

export async function writes(world: SqlWorld): Promise<readonly unknown[]> {
  return (await world.run("SELECT who FROM writes WHERE election = ?", [world.election])).map(({ who }) => who);
}
