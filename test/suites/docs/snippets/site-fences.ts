import type { DatabaseSync } from "node:sqlite";
import { TransactWriteCommand, type DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type { BlobClient } from "@azure/storage-blob";
import type { Firestore } from "@google-cloud/firestore";
import type { BlobLeaseStore } from "@leasehold/azure-blob";
import type { Leadership } from "@leasehold/core";
import type { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import type { EtcdLeaseStore } from "@leasehold/etcd";
import type { FirestoreLeaseStore } from "@leasehold/firestore";
import type { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import type { RedisLeaseStore } from "@leasehold/redis";
import type { SqlLeaseStore } from "@leasehold/sql";
import type { Redis } from "ioredis";
import type { Connection } from "mysql2/promise";

declare const leadership: Leadership;
declare const signal: AbortSignal;
declare const bill: { readonly id: string };
declare function nextReport(signal: AbortSignal): Promise<string>;
declare function base64(text: string): string;

export async function mysql(store: SqlLeaseStore, connection: Connection): Promise<void> {
  await connection.beginTransaction();
  await store.fence(leadership, connection);
  await connection.query("INSERT INTO bills SET ?", [bill]);
  await connection.commit();
}

export async function sqlite(store: SqlLeaseStore): Promise<void> {
  await store.fencedTransaction(leadership, (database: DatabaseSync) => {
    database.prepare("INSERT INTO bills (id) VALUES (?)").run(bill.id);
  });
}

export async function dynamodb(store: DynamoDBLeaseStore, dynamo: DynamoDBDocumentClient): Promise<void> {
  const put = { Put: { TableName: "bills", Item: bill } };
  await dynamo.send(new TransactWriteCommand({ TransactItems: [store.fence(leadership), put] }));
}

export async function azure(store: BlobLeaseStore, report: BlobClient): Promise<void> {
  await store.seal(leadership, report, { signal });
  while (!signal.aborted) await store.fencedUpload(leadership, report, await nextReport(signal));
}

export async function onFirestore(store: FirestoreLeaseStore, firestore: Firestore): Promise<void> {
  await firestore.runTransaction(async (transaction) => {
    await store.fence(leadership, transaction);
    transaction.set(firestore.doc(`bills/${bill.id}`), bill);
  });
}

export async function onRedis(store: RedisLeaseStore, redis: Redis, amount: number): Promise<void> {
  const { guard, key, value } = store.fenceScript(leadership);
  await redis.eval(`${guard}\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])`, 2, "total", key, amount, value);
}

export async function s3(store: ObjectStorageLeaseStore): Promise<void> {
  await store.seal(leadership, "reports/today.json", { signal });
  while (!signal.aborted) await store.fencedPut(leadership, "reports/today.json", await nextReport(signal));
}

export function etcd(store: EtcdLeaseStore, report: string): object {
  const success = [{ request_put: { key: base64("reports/today"), value: base64(report) } }];
  const transaction = { compare: store.fence(leadership), success }; // for POST /v3/kv/txn
  return transaction;
}
