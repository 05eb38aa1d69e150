/** PostgreSQL with a synchronous standby that is cut off: the primary acknowledges no commit. */
import { SqlLeaseStore } from "@leasehold/sql";
import { Client, Pool } from "pg";
import { describe, expect, test as base } from "vitest";
import { LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing, startPostgres, startPostgresStandby } from "@leasehold/test-kit/backends/postgres";
import { failureOf } from "@leasehold/test-kit/failure";
import { startTcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";

/** A limit of ten times what an idle machine takes. */

/** A primary, and a standby that acknowledges until it is cut off. */
const test = base.extend("pair", { scope: "file" }, async ({}, { onCleanup }) => {
  const opened = new AsyncDisposableStack();
  onCleanup(() => opened.disposeAsync());
  const primary = opened.use(await startPostgres());
  const link = opened.use(await startTcpFaultProxy(primary.port));
  opened.use(await startPostgresStandby(link.port));
  const admin = new Client(primary.url);
  // Servers that stop end their connections.
  admin.on("error", () => undefined);
  await admin.connect();
  opened.defer(() => admin.end());
  await using store = new SqlLeaseStore({ postgres: primary.url });
  await store.migrate();
  await admin.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
  await admin.query("SELECT pg_reload_conf()");
  const one = async (sql: string): Promise<unknown> => Object.values((await admin.query<object>(sql)).rows[0] ?? {})[0];
  /** Waits until the standby acknowledges. */
  const attach = async (): Promise<void> => {
    link.heal();
    const sql = "SELECT count(*)::int FROM pg_stat_replication WHERE sync_state = 'sync'";
    await expect.poll(() => one(sql)).toBe(1);
  };
  return {
    url: primary.url,
    admin,
    one,
    attach,
    cutOff: () => link.cut(),
    /** Waits until a write waits for the standby, and returns its process. */
    waiting: async (): Promise<number> => {
      const sql = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_type = 'client backend'";
      await expect.poll(() => one(sql)).toBeDefined();
      return (await one(sql)) as number;
    },
    nonceOf: async (election: string): Promise<unknown> =>
      await one(`SELECT nonce FROM leasehold_leases WHERE election = '${election}'`),
  };
});

describe.skipIf(await isMissing(postgresMissing()))("with a synchronous standby that is cut off", () => {
  test("a renewal that is given up is not cancelled: it still waits, and is not visible", async ({ pair }) => {
    await pair.attach();
    await using store = new SqlLeaseStore({ postgres: pair.url });
    const lease = await win(store, { election: "given-up" });
    const before = await pair.nonceOf("given-up");
    pair.cutOff();
    await expect(store.renew(lease, { timeoutMs: 500 })).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      mayHaveBeenApplied: true,
    });
    const pid = await pair.waiting();

    // The next renewal waits for the first one's lock, and its error names the holder.
    const error = await failureOf(store.renew(lease, { timeoutMs: 8_000 }));
    expect(error).toMatchObject({ code: "STORE_CONFLICT", mayHaveBeenApplied: false });
    expect(error.message).toContain(`process ${pid} holds`);
    expect(error.message).toContain("waiting for SyncRep");
    expect(await pair.waiting()).toBe(pid);
    expect(await pair.nonceOf("given-up")).toBe(before);

    await pair.attach();
    await expect.poll(() => pair.nonceOf("given-up")).not.toBe(before);
  });

  test.for(["", "-c client_min_messages=error"])(
    "a renewal whose wait an administrator cancels has an unknown outcome: %s",
    async (options, { pair }) => {
      await pair.attach();
      const pool = new Pool({ connectionString: pair.url, options });
      await using store = new SqlLeaseStore({ postgres: pool });
      const election = `cancelled ${options}`;
      const lease = await win(store, { election });
      const before = await pair.nonceOf(election);
      pair.cutOff();
      const renewal = failureOf(store.renew(lease, { timeoutMs: 60_000 }));
      await pair.admin.query("SELECT pg_cancel_backend($1)", [await pair.waiting()]);
      await expect(renewal).resolves.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
      // The write is visible although it is not acknowledged.
      expect(await pair.nonceOf(election)).not.toBe(before);
      await pair.attach();
      await pool.end();
    },
  );

  test.for(["off", "local"])(
    "a renewal waits for the standby on a connection with synchronous_commit = %s",
    async (setting, { pair }) => {
      await pair.attach();
      const pool = new Pool({ connectionString: pair.url, options: `-c synchronous_commit=${setting}` });
      await using store = new SqlLeaseStore({ postgres: pool });
      const lease = await win(store, { election: setting });
      pair.cutOff();
      const renewal = store.renew(lease, { timeoutMs: 60_000 });
      await pair.waiting();
      await pair.attach();
      await expect(renewal).resolves.toMatchObject({ held: true });
      // The setting of the connection does not change.
      expect((await pool.query("SHOW synchronous_commit")).rows).toEqual([{ synchronous_commit: setting }]);
      await expect(store.release(lease, LIMITS)).resolves.toBe("released");
      await pool.end();
    },
  );
});
