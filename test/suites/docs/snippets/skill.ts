import { Elector, type Leadership } from "@leasehold/core";
import { fakeLeadership } from "@leasehold/core/testing";
import { SqlLeaseStore } from "@leasehold/sql";
import type { Pool, PoolClient } from "pg";

declare const pool: Pool;
declare const customer: string;
declare function billNextCustomer(options: { signal: AbortSignal }): Promise<void>;
declare function bill(leadership: Leadership): Promise<void>;

export async function decided(leadership: Leadership, client: PoolClient): Promise<void> {
  const store = new SqlLeaseStore({ postgres: pool });
  const elector = new Elector({ store, election: "nightly-billing" });

  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await billNextCustomer({ signal });
    },
    { stopOn: ["SIGTERM", "SIGINT"] },
  );

  await client.query("BEGIN");
  await store.fence(leadership, client);
  await client.query("INSERT INTO bills (customer) VALUES ($1)", [customer]);
  await client.query("COMMIT");
}

export async function tested(): Promise<void> {
  const leadership = fakeLeadership({ term: 7 });
  const billing = bill(leadership);
  leadership.lose();
  await billing; // it has stopped
}
