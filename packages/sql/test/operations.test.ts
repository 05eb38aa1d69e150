import { getEventListeners } from "node:events";
import type { Lease } from "@leasehold/core/provider";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { expect } from "vitest";
import { LIMITS } from "@leasehold/test-kit/acquisitions";
import { ALL, describeDatabases, recordOf, SERVERS, type SqlWorld } from "./sql-world.ts";

/** Returns a store, and the statements that it sends. */
function counting(world: SqlWorld) {
  const sent: string[] = [];
  const note = (statement: unknown): void => {
    const { text, sql } = statement as { readonly text?: string; readonly sql?: string };
    // MariaDB's limit for a statement precedes it, in a comment.
    const command = (text ?? sql ?? String(statement)).replace(/^\/\*.*?\*\//, "");
    sent.push(command.trim().split(/\s/, 1)[0] ?? "");
  };
  let pool: unknown;
  if (world.kind === "postgres") {
    const own = new Pool({ connectionString: world.place });
    world.onEnd(() => own.end());
    own.on("connect", (client) => {
      const query = client.query.bind(client) as (...given: unknown[]) => unknown;
      Object.assign(client, {
        query: (...given: unknown[]): unknown => {
          note(given[0]);
          return query(...given);
        },
      });
    });
    pool = own;
  } else {
    const own = createPool({ uri: world.place });
    world.onEnd(() => own.end());
    pool = {
      end: async () => own.end(),
      getConnection: async () => {
        const connection = await own.getConnection();
        return {
          threadId: connection.threadId,
          query: async (statement: { readonly sql: string }) => {
            note(statement);
            return await connection.query(statement);
          },
          release: () => connection.release(),
          destroy: () => connection.destroy(),
        };
      },
    };
  }
  const store = world.store(pool);
  const during = async (act: () => Promise<unknown>): Promise<string[]> => {
    const before = sent.length;
    await act();
    return sent.slice(before);
  };
  return { store, during };
}

await describeDatabases(SERVERS, (test, kind) => {
  test("each operation sends the documented number of statements", async ({ world }) => {
    const { store, during } = counting(world);
    const update = kind === "mysql" ? "UPDATE" : "WITH";
    const first = await during(() => store.acquire(world.acquiring()));
    // The first read finds no lease, and no fence that remembers a term. Then the keys are checked, and the rows are made.
    expect(first.slice(0, 2)).toEqual(["SELECT", "SELECT"]);
    expect(first.slice(2)).toEqual(kind === "mysql" ? ["SELECT", "INSERT", "INSERT", "UPDATE"] : ["SELECT", "WITH", "WITH"]);
    const lease = await world.win(world.store(), { election: "unused" });
    expect(lease.term).toBe(1);
    await store.break(world.election, { reason: "r", immediate: true });

    const held = world.acquiring();
    const taken: { lease?: Lease } = {};
    expect(
      await during(async () => {
        const outcome = await store.acquire(held);
        if (outcome.acquired) taken.lease = outcome.lease;
      }),
    ).toEqual([update]);
    const mine = taken.lease ?? expect.fail("It should have been acquired.");
    expect(await during(() => store.renew(mine, LIMITS))).toEqual([update]);
    expect(await during(() => store.publish(mine, "value", LIMITS))).toEqual([update]);
    expect(await during(() => store.read(world.election))).toEqual(["SELECT"]);
    expect(await during(() => store.release(mine, LIMITS))).toEqual([update]);
  });

  test("a claim of an occurrence sends the documented number of statements", async ({ world }) => {
    const { store, during } = counting(world);
    const occurrences = store.occurrences(world.election, { retentionMs: 60_000 });
    const claim = async () => world.win(occurrences, { election: "tick" });
    const claimed: { lease?: Lease } = {};
    const [insert, update] = kind === "mysql" ? ["INSERT", "UPDATE"] : ["WITH", "WITH"];
    // The first claim of a store checks the keys.
    expect(await during(async () => (claimed.lease = await claim()))).toEqual(["SELECT", "SELECT", insert, update]);
    const lease = claimed.lease ?? expect.fail("It should have been claimed.");
    expect(await during(() => occurrences.renew(lease, LIMITS))).toEqual([update]);
    expect(await during(() => occurrences.complete(lease, LIMITS))).toEqual([update]);
  });

  test("a standby's poll is one statement, and writes nothing", async ({ world }) => {
    await world.win(world.store());
    const { store, during } = counting(world);
    await store.read(world.election);
    for (let looks = 0; looks < 3; looks += 1) expect(await during(() => store.read(world.election))).toEqual(["SELECT"]);
    // A lease that is known to be held needs no request.
    expect(await during(() => store.acquire(world.acquiring()))).toEqual([]);
  });
});

await describeDatabases(ALL, (test) => {
  test("a signal that many calls share gathers no listeners", async ({ world }) => {
    const { signal } = new AbortController();
    const rows = world.rows();
    const options = { ifVersion: undefined, keepsNonce: false, signal };
    await expect(rows.put(world.election, recordOf(), options)).resolves.toMatchObject({ stored: true });
    await expect(rows.get(world.election, { signal, consistent: true })).resolves.toBeDefined();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});
