import { isLeaseholdError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { expect } from "vitest";
import { ALL, describeDatabases, recordOf, SERVERS, type SqlWorld } from "./sql-world.ts";
import { disagreement } from "./two-rows.ts";

const signal = new AbortController().signal;
/** The random operations. A run goes on until each of them has happened. */
const OPERATIONS = ["acquire", "renew", "release", "break", "break now", "transfer", "killed"];
/** The least and the longest time of a run. */
const AT_LEAST_MS = 2_000;
const AT_MOST_MS = 90_000;

/** Returns a pool that many stores of one process share, so that the server has enough connections for them. */
function sharedPool(world: SqlWorld): unknown {
  if (world.kind === "sqlite") return world.place;
  if (world.kind === "mysql") {
    const pool = createPool({ uri: world.place, connectionLimit: 20 });
    world.onEnd(() => pool.end());
    return pool;
  }
  const pool = new Pool({ connectionString: world.place, max: 20 });
  pool.on("error", () => undefined);
  world.onEnd(() => pool.end());
  return pool;
}

/** Returns a generator of numbers that are the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

await describeDatabases(ALL, (test) => {
  test("ten clients that each write twenty times on what they have read leave two hundred", async ({ world }) => {
    const pool = sharedPool(world);
    const count = async (fenced: boolean): Promise<void> => {
      const rows = world.rows(pool);
      for (let written = 0; written < 20;) {
        const found = await rows.get(world.election, { signal, consistent: true });
        const term = found ? (found.data as { term: number }).term + 1 : 1;
        const fence = fenced ? { fence: { term, termId: String(term) } } : {};
        const outcome = await rows
          .put(world.election, recordOf({ term }), { ifVersion: found?.version, keepsNonce: false, ...fence, signal })
          .catch((error: unknown) => {
            // The database chose this write as the victim of a deadlock, and carried out no part of it.
            expect(error).toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
            return { stored: false };
          });
        if (outcome.stored) written += 1;
      }
    };
    // Both rows must exist before a client writes only one of them.
    await world.rows(pool).put(world.election, recordOf({ term: 0 }), {
      ifVersion: undefined,
      keepsNonce: false,
      fence: { term: 0, termId: null },
      signal,
    });
    await Promise.all(Array.from({ length: 10 }, (_, index) => count(index % 2 === 0)));
    expect(await world.leaseRow()).toMatchObject({ term: 200 });
  });
});

await describeDatabases(SERVERS, (test) => {
  test("lease and fence agree at every moment, after any operation and after any connection is killed", async ({ world }) => {
    const seed = Math.floor(Math.random() * 1e9);
    const random = randomOf(seed);
    const done: Record<string, number> = {};
    const beganMs = performance.now();
    const goesOn = (): boolean => {
      const passedMs = performance.now() - beganMs;
      return passedMs < AT_LEAST_MS || (passedMs < AT_MOST_MS && OPERATIONS.some((operation) => !done[operation]));
    };
    const candidate = async (candidateId: string): Promise<void> => {
      const store = world.store();
      let lease: Lease | undefined;
      while (goesOn()) {
        const dice = random();
        const operation =
          dice < 0.1
            ? "break"
            : dice < 0.15
              ? "break now"
              : dice < 0.2
                ? "transfer"
                : !lease
                  ? "acquire"
                  : dice < 0.7
                    ? "renew"
                    : "release";
        try {
          if (operation === "break" || operation === "break now") {
            await store.break(world.election, { reason: "r", immediate: operation === "break now", timeoutMs: 1_000 });
          } else if (operation === "transfer") {
            const abort = AbortSignal.timeout(30);
            await store
              .transfer(world.election, "a", { transferTimeoutMs: 5, timeoutMs: 1_000, signal: abort })
              .catch((error: unknown) => {
                if (!abort.aborted) throw error;
              });
          } else if (operation === "acquire") {
            await store.read(world.election, { expiry: "store-clock", timeoutMs: 1_000 });
            const request = world.acquiring({ candidateId, leaseDurationMs: 1_000, renewIntervalMs: 10, timeoutMs: 1_000 });
            const outcome = await store.acquire({ ...request, expiry: "store-clock" });
            lease = outcome.acquired ? outcome.lease : undefined;
          } else if (lease) {
            const outcome =
              operation === "renew"
                ? await store.renew(lease, { timeoutMs: 1_000 })
                : await store.release(lease, { timeoutMs: 1_000 });
            if (typeof outcome === "string" || !outcome.held) lease = undefined;
          }
          done[operation] = (done[operation] ?? 0) + 1;
        } catch (error) {
          if (!isLeaseholdError(error)) throw error;
          done[error.code] = (done[error.code] ?? 0) + 1;
        }
      }
    };
    const kill = async (): Promise<void> => {
      while (goesOn()) {
        const victims = await world.busy();
        const victim = victims[Math.floor(random() * victims.length)];
        if (victim && random() < 0.3) {
          const sql =
            world.kind === "mysql" ? `KILL ${String(victim["id"])}` : `SELECT pg_terminate_backend(${String(victim["id"])})`;
          await world.run(sql).then(
            () => (done["killed"] = (done["killed"] ?? 0) + 1),
            () => undefined,
          );
        }
        const difference = await disagreement(world);
        if (difference) expect.fail(`seed ${seed}: ${difference}`);
      }
    };
    await Promise.all([candidate("a"), candidate("b"), candidate("c"), candidate("d"), kill()]);
    expect(await disagreement(world), `seed ${seed}`).toBeUndefined();
    for (const operation of OPERATIONS) {
      expect(done[operation], `${operation} (seed ${seed}, ${JSON.stringify(done)})`).toBeGreaterThan(0);
    }
    expect(done["FOREIGN_RECORD"] ?? 0).toBe(0);
  });
});
