import { Observer, oncePerOccurrence, type Elector, type Leadership, type LeaseStore } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import type { PoolClient } from "pg";

declare const elector: Elector;
declare const scheduledAt: Date;
declare const version: string;
declare function billNextCustomer(options: { signal: AbortSignal }): Promise<void>;
declare function closeTheBooks(at: Date, options: { signal: AbortSignal }): Promise<void>;
declare function migrate(options: { signal: AbortSignal }): Promise<void>;
declare function refreshCache(): Promise<void>;
declare function warmTheCache(signal: AbortSignal): Promise<void>;

export async function worker(): Promise<void> {
  await elector.run(
    async ({ signal }) => {
      while (!signal.aborted) await billNextCustomer({ signal });
    },
    { stopOn: ["SIGTERM"] },
  );
}

export async function asks(): Promise<void> {
  const leading = elector.run(undefined, { stopOn: ["SIGTERM"] });
  setInterval(() => {
    if (elector.isLeader) void refreshCache();
    else console.log(`${elector.leader?.candidateId ?? "nobody"} leads`);
  }, 10_000);
  await leading;
}

export async function perTick(store: LeaseStore): Promise<void> {
  await oncePerOccurrence({ store, name: "close-the-books", scheduledAt }, async ({ signal }) => {
    await closeTheBooks(scheduledAt, { signal });
  });
}

export async function perDeployment(store: LeaseStore): Promise<void> {
  await oncePerOccurrence({ store, name: "migrate", key: version }, async ({ signal }) => {
    await migrate({ signal });
  });
}

export async function oneAttempt(): Promise<void> {
  const outcome = await elector.tryRun(async ({ signal }) => warmTheCache(signal));
  if (!outcome.elected) console.log(`${outcome.leader?.candidateId ?? "somebody"} has it`);
}

export async function byHand(signal: AbortSignal): Promise<void> {
  await using leadership = await elector.campaign({ signal });
  await migrate(leadership);
}

export async function watches(store: LeaseStore, signal: AbortSignal): Promise<void> {
  for await (const leader of new Observer({ store, election: "nightly-billing" }).observe({ signal })) {
    console.log(leader ? `${leader.candidateId} leads term ${leader.term}` : "nobody leads");
  }
}

export async function fenced(
  store: SqlLeaseStore,
  leadership: Leadership,
  client: PoolClient,
  customer: string,
  amount: number,
): Promise<void> {
  await client.query("BEGIN");
  await store.fence(leadership, client);
  await client.query("INSERT INTO bills (customer, amount) VALUES ($1, $2)", [customer, amount]);
  await client.query("COMMIT");
}
