import { setTimeout as delay } from "node:timers/promises";
import { SqlLeaseStore } from "@leasehold/sql";
import { Client } from "pg";
import { leadOn, type Rivals } from "./candidate.ts";

const AGAIN_MS = 100;

export const rivals: Rivals = {
  async theirs(url) {
    const client = new Client(url);
    let leads = false;
    client.on("error", () => {
      leads = false;
    });
    await client.connect();
    while (!leads) {
      const { rows } = await client.query<{ won: boolean }>("SELECT pg_try_advisory_lock(42) AS won");
      leads = rows[0]?.won === true;
      if (!leads) await delay(AGAIN_MS);
    }
    return { leads: () => leads, close: () => client.end() };
  },
  async ours(url) {
    const store = new SqlLeaseStore({ postgres: url });
    await store.migrate();
    return await leadOn(store, () => store.close());
  },
};

/** Ends every session of the server but its own. */
export async function endSessions(url: string): Promise<void> {
  const admin = new Client(url);
  await admin.connect();
  await admin.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  await admin.end();
}
