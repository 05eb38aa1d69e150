import { BlobLeaseStore } from "@leasehold/azure-blob";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { RedisLeaseStore } from "@leasehold/redis";
import { SqlLeaseStore } from "@leasehold/sql";
import type { LeaseStore } from "@leasehold/core";

export async function postgres(): Promise<LeaseStore> {
  const store = new SqlLeaseStore({ postgres: "postgres://billing@db.internal/app" });
  await store.migrate(); // creates the tables
  return store;
}

export async function mysql(): Promise<LeaseStore> {
  const store = new SqlLeaseStore({ mysql: "mysql://billing@db.internal/app" });
  await store.migrate(); // creates the tables
  return store;
}

export function dynamodb(): LeaseStore {
  const store = new DynamoDBLeaseStore({ tableName: "leases" });
  return store;
}

export function azure(): LeaseStore {
  const store = new BlobLeaseStore({ accountUrl: "https://acme.blob.core.windows.net", containerName: "leases" });
  return store;
}

export function firestore(): LeaseStore {
  const store = new FirestoreLeaseStore();
  return store;
}

export function redis(): LeaseStore {
  const store = new RedisLeaseStore({ url: "redis://cache.internal:6379" });
  return store;
}

export function s3(): LeaseStore {
  const store = new ObjectStorageLeaseStore({ url: "s3://acme-leases/leasehold/?region=eu-west-1" });
  return store;
}

export function etcd(): LeaseStore {
  const store = new EtcdLeaseStore({ endpoints: "https://etcd.internal:2379" });
  return store;
}

export function kubernetes(): LeaseStore {
  const store = new KubernetesLeaseStore();
  return store;
}
