import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import type { Adapter } from "../bench/peers/contender.ts";

const AGAIN_MS = 100;

/** A session's lock in PostgreSQL. It has no lease: it lasts as long as the session. */
export const advisoryLock: Adapter = {
  async connect(host) {
    const client = new Client(urlOf(host));
    let leads = false;
    client.on("error", () => {
      leads = false;
    });
    await client.connect();
    return {
      campaign(_election, changed) {
        const lead = async (): Promise<void> => {
          while (!leads) {
            const { rows } = await client.query<{ won: boolean }>("SELECT pg_try_advisory_lock(42) AS won");
            leads = rows[0]?.won === true;
            if (!leads) await delay(AGAIN_MS);
          }
          changed();
        };
        void lead();
        return { leads: () => leads, stop: () => Promise.resolve() };
      },
      close: () => client.end(),
    };
  },
};

/** Ends every session of the server but its own. */
export async function endSessions(host: string): Promise<void> {
  const admin = new Client(urlOf(host));
  await admin.connect();
  await admin.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
  await admin.end();
}

function urlOf(host: string): string {
  return `postgresql://postgres@${host}/postgres`;
}
