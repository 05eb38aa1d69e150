import { ConfigurationError, FencedError } from "@leasehold/core";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { led, writes } from "./fencing.ts";
import { ALL, describeDatabases } from "./sql-world.ts";

/** The part that the connections of all drivers have in common here. */
type Connection = { query(sql: string): Promise<unknown> } & { exec(sql: string): void };

await describeDatabases(ALL, (test, kind) => {
  const send = async (connection: Connection, sql: string): Promise<void> => {
    if (kind === "sqlite") connection.exec(sql);
    else await connection.query(sql);
  };

  test("a leader's work is committed, and its result returned", async ({ world }) => {
    const { store, lease } = await led(world);
    const result = await store.fencedTransaction(lease, async (connection: Connection) => {
      await send(connection, `INSERT INTO writes VALUES ('${world.election}', 'mine')`);
      await expect(writes(world)).resolves.toEqual([]);
      return 7;
    });
    expect(result).toBe(7);
    await expect(writes(world)).resolves.toEqual(["mine"]);
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("the work of a frozen leader is not called, and the next transaction of the store works", async ({ world }) => {
    const { store, lease } = await led(world);
    await world.store().break(world.election, { reason: "frozen", immediate: true });
    const next = await world.win(world.store(), { candidateId: "b" });
    let calls = 0;
    const work = async (connection: Connection): Promise<void> => {
      calls += 1;
      await send(connection, `INSERT INTO writes VALUES ('${world.election}', 'mine')`);
    };
    await expect(store.fencedTransaction(lease, work)).rejects.toBeInstanceOf(FencedError);
    expect(calls).toBe(0);
    await store.fencedTransaction(next, work);
    await expect(writes(world)).resolves.toEqual(["mine"]);
  });

  test("an error of the work rolls back, and is thrown as it is", async ({ world }) => {
    const { store, lease } = await led(world);
    const error = new Error("mine");
    const work = async (connection: Connection): Promise<void> => {
      await send(connection, `INSERT INTO writes VALUES ('${world.election}', 'mine')`);
      throw error;
    };
    await expect(store.fencedTransaction(lease, work)).rejects.toBe(error);
    await expect(writes(world)).resolves.toEqual([]);
    // Nothing holds the fence any more.
    await expect(store.release(lease, LIMITS)).resolves.toBe("released");
  });

  test("two transactions of one store both commit", async ({ world }) => {
    const { store, lease } = await led(world);
    const work = async (connection: Connection): Promise<void> =>
      send(connection, `INSERT INTO writes VALUES ('${world.election}', 'mine')`);
    await Promise.all([store.fencedTransaction(lease, work), store.fencedTransaction(lease, work)]);
    await expect(writes(world)).resolves.toEqual(["mine", "mine"]);
  });

  test("a closed store begins none", async ({ world }) => {
    const { store, lease } = await led(world);
    await store.close();
    await expect(store.fencedTransaction(lease, () => undefined)).rejects.toBeInstanceOf(ConfigurationError);
  });

  if (kind === "mysql")
    test("work that ends the transaction by a statement which commits is told that it was not guarded to its end", async ({
      world,
    }) => {
      const { store, lease } = await led(world);
      const error = await failureOf(
        store.fencedTransaction(lease, async (connection: Connection) => {
          await send(connection, "CREATE TABLE IF NOT EXISTS writes (election VARCHAR(100), who VARCHAR(100))");
          await send(connection, `INSERT INTO writes VALUES ('${world.election}', 'mine')`);
        }),
      );
      expect(error).toMatchObject({ code: "STORE_REJECTED", message: expect.stringContaining("ended before its work did") });
    });

  if (kind === "postgres")
    test("work that swallows the error of a statement is told that nothing was committed", async ({ world }) => {
      const { store, lease } = await led(world);
      const error = await failureOf(
        store.fencedTransaction(lease, async (connection: Connection) => {
          await send(connection, `INSERT INTO writes VALUES ('${world.election}', 'mine')`);
          await send(connection, "SELECT 1 / 0").catch(() => undefined);
        }),
      );
      expect(error).toMatchObject({ code: "STORE_REJECTED", message: expect.stringContaining("swallowed") });
      await expect(writes(world)).resolves.toEqual([]);
    });
});
