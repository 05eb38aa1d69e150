import { setTimeout as delay } from "node:timers/promises";
import { Elector } from "@leasehold/core";
import { expect } from "vitest";
import { ALL, describeDatabases } from "./sql-world.ts";

await describeDatabases(ALL, (test, kind) => {
  test("a leader renews while its own guarded transaction stays open", async ({ world }) => {
    const store = world.store();
    const timing = { leaseDurationMs: 15_000, renewIntervalMs: 200 };
    const elector = new Elector({ store, election: world.election, candidateId: "a", ...timing });
    let renewals = 0;
    elector.on("renewed", () => (renewals += 1));
    await world.run("CREATE TABLE IF NOT EXISTS writes (election VARCHAR(100), who VARCHAR(100))");
    await using leadership = await elector.campaign();
    const session = await world.session();
    await session.run("BEGIN");
    await store.fence(leadership, session.connection);
    await session.run("INSERT INTO writes VALUES (?, ?)", [world.election, "long"]);
    const nonces = new Set<unknown>();
    const rival = world.store();
    // A renewal that waited for the transaction would not finish, and the loop would not end.
    const hasRenewed = (): boolean => kind === "sqlite" || nonces.size > 2;
    for (const before = renewals; renewals < before + 4 || !hasRenewed();) {
      const attempt = await rival.acquire(world.acquiring({ candidateId: "b", expiry: "store-clock" }));
      expect(attempt.acquired).toBe(false);
      // Not on SQLite, where the connection would wait for the lock of the file.
      if (kind !== "sqlite") nonces.add((await world.leaseRow())?.["nonce"]);
      await rival.read(world.election, { expiry: "store-clock" });
      // SQLite answers at once, so that a loop of answers would leave no time for timers.
      await delay(20);
    }
    await session.run("COMMIT");

    expect(leadership.signal.aborted).toBe(false);
    expect(elector.isLeader).toBe(true);
    const rows = await world.run("SELECT who FROM writes WHERE election = ?", [world.election]);
    expect(rows.map(({ who }) => who)).toEqual(["long"]);
  });

  test("a standby's proof that it may write does not wait for a transaction of the leader's", async ({ world }) => {
    const store = world.store();
    await using leadership = await new Elector({ store, election: world.election }).campaign();
    const session = await world.session();
    await session.run("BEGIN");
    await store.fence(leadership, session.connection);

    const { writeMs } = await world.store().check({ election: world.election, timeoutMs: 30_000 });

    expect(writeMs).toBeGreaterThanOrEqual(0);
    await session.run("COMMIT");
  });
});
