import { FencedError, UnsupportedError } from "@leasehold/core";
import { createConnection } from "mysql2";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { HELD_OFF_ERROR, led, writes } from "./fencing.ts";
import { describeDatabases } from "./sql-world.ts";

await describeDatabases(["mysql"], (test) => {
  test("a fence in a deadlock ends the connection, so that no later write commits by itself", async ({ world }) => {
    const { store, lease } = await led(world);
    const other = await world.session();
    await other.run("CREATE TABLE IF NOT EXISTS locked (election VARCHAR(100) PRIMARY KEY)");
    await other.run("INSERT INTO locked VALUES (?)", [world.election]);
    await other.run("BEGIN");
    // The server ends the transaction that has written less.
    for (const who of ["a", "b", "c"]) await other.run("INSERT INTO locked VALUES (?)", [`${world.election} ${who}`]);
    await other.run("UPDATE leasehold_fences SET term = term WHERE election = ?", [world.name()]);
    const session = await world.session();
    await session.run("BEGIN");
    await session.run("UPDATE locked SET election = election WHERE election = ?", [world.election]);
    const fencing = failureOf(store.fence(lease, session.connection));
    const written = session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "unguarded"]).catch(() => undefined);
    await expect.poll(async () => (await world.busy()).length).toBeGreaterThan(0);
    await other.run("UPDATE locked SET election = election WHERE election = ?", [world.election]);
    expect((await fencing)["code"]).toBe("ER_LOCK_DEADLOCK");
    await written;
    await session.close();
    await other.run("ROLLBACK");
    expect(await writes(world)).toEqual([]);
  });

  test("a transaction begun by autocommit = 0 is one", async ({ world }) => {
    const { store, lease } = await led(world);
    const session = await world.session();
    await session.run("SET autocommit = 0");
    await store.fence(lease, session.connection);
    await expect(store.release(lease, { timeoutMs: 150 })).rejects.toMatchObject(HELD_OFF_ERROR);
    await expect.poll(() => world.busy()).toEqual([]);
    await session.run("COMMIT");
    await expect(store.release(lease, LIMITS)).resolves.toBe("released");
  });

  test("a connection with callbacks works too", async ({ world }) => {
    const { store, lease } = await led(world);
    const connection = createConnection(world.place);
    world.onEnd(async () => connection.destroy());
    await expect(store.fence(lease, connection)).rejects.toBeInstanceOf(UnsupportedError);
    connection.query("BEGIN");
    await store.fence(lease, connection);
    await expect(store.fence({ ...lease, term: 2 }, connection)).rejects.toBeInstanceOf(FencedError);
  });
});
