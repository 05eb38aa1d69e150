import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Firestore } from "@google-cloud/firestore";
import { Elector } from "@leasehold/core";
import type { Leadership } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { FirestoreLeaseStore, KEEPALIVE } from "@leasehold/firestore";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { SqlLeaseStore } from "@leasehold/sql";

export async function threeClouds(): Promise<void> {
  const store = new QuorumLeaseStore({
    members: {
      aws: new DynamoDBLeaseStore({ tableName: "leases" }),
      gcp: new FirestoreLeaseStore({ firestore: new Firestore(KEEPALIVE) }),
      azure: new SqlLeaseStore({ postgres: process.env["AZURE_POSTGRES"] ?? "" }),
    },
  });
  const elector = new Elector({ store, election: "nightly-billing" });
  process.once("SIGTERM", () => void elector.stop());

  await elector.run(async (leadership) => {
    while (!leadership.signal.aborted) await billNextCustomer(leadership);
  });
}

export function threeRegions(): QuorumLeaseStore {
  const inRegion = (region: string) => new DynamoDBLeaseStore({ client: new DynamoDBClient({ region }), tableName: "leases" });
  return new QuorumLeaseStore({
    members: { ireland: inRegion("eu-west-1"), frankfurt: inRegion("eu-central-1"), paris: inRegion("eu-west-3") },
  });
}

export function threeDatabases(): QuorumLeaseStore {
  return new QuorumLeaseStore({
    members: {
      orders: new SqlLeaseStore({ postgres: "postgres://billing@orders.internal/orders" }),
      stock: new SqlLeaseStore({ postgres: "postgres://billing@stock.internal/stock" }),
      shop: new SqlLeaseStore({ mysql: "mysql://billing@shop.internal/shop" }),
    },
  });
}

export async function sealing(store: QuorumLeaseStore, leadership: Leadership): Promise<void> {
  await store.seal(leadership, "sql", { signal: leadership.signal });
}

declare function billNextCustomer(leadership: Leadership): Promise<void>;
