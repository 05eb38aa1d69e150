import { FencedError, type LeaseStore } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import type { SqlWorld } from "../sql-world.ts";

const VALUE = "\0 é 👩‍🚀";

/** Takes a lease through its life, beside a store of another process. */
export async function lives(world: SqlWorld, store: LeaseStore, other: LeaseStore): Promise<void> {
  const lease = await world.win(store, { value: VALUE });
  await expect(other.acquire(world.acquiring())).resolves.toMatchObject({ acquired: false });
  await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  const read = { state: "held", term: 1, value: VALUE };
  for (const one of [store, other])
    await expect(one.read(world.election, { expiry: "store-clock" })).resolves.toMatchObject(read);
  await expect(store.release(lease, LIMITS)).resolves.toBe("released");
  await other.read(world.election);
  await expect(world.win(other)).resolves.toMatchObject({ term: 2 });
}

/** Runs a statement without parameters. */
export type Query = (sql: string) => Promise<unknown>;

/** Proves that `transact` commits for a leader, and nothing for a frozen one. @param written returns what was committed. */
export async function fences(
  world: SqlWorld,
  store: SqlLeaseStore,
  { query, written }: { readonly query: (connection: never) => Query; readonly written: () => Promise<readonly unknown[]> },
): Promise<void> {
  const lease = await world.win(store);
  const work = async (connection: never): Promise<void> =>
    void (await query(connection)(`INSERT INTO guarded VALUES ('${world.election}')`));
  await store.fencedTransaction(lease, work);
  expect(await written()).toHaveLength(1);
  await store.break(world.election, { reason: "frozen", immediate: true });
  await world.win(store, { candidateId: "b" });
  await expect(store.fencedTransaction(lease, work)).rejects.toBeInstanceOf(FencedError);
  expect(await written()).toHaveLength(1);
}
