import { TransactWriteCommand, type DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import type { Firestore } from "@google-cloud/firestore";
import type { Leadership } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { SqlLeaseStore } from "@leasehold/sql";
import type { Connection, Pool } from "mysql2/promise";
import type { Pool as PgPool } from "pg";

export async function stores(
  dynamo: DynamoDBDocumentClient,
  firestore: Firestore,
  pool: Pool,
  pgPool: PgPool,
  connection: Connection,
  leadership: Leadership,
  bill: { readonly id: string },
): Promise<readonly object[]> {
  const onDynamoDB = new DynamoDBLeaseStore({ tableName: "leases" }); // keys: election and entry, both strings
  const onFirestore = new FirestoreLeaseStore({ firestore }); // the collection 'leasehold'
  const onSqlite = new SqlLeaseStore({ sqlite: "/var/lib/app/app.db" });
  const onMySql = new SqlLeaseStore({ mysql: pool }); // or a URL; once: await onMySql.migrate()
  const onPostgres = new SqlLeaseStore({ postgres: pgPool });

  await dynamo.send(
    new TransactWriteCommand({ TransactItems: [onDynamoDB.fence(leadership), { Put: { TableName: "bills", Item: bill } }] }),
  );

  await firestore.runTransaction(async (transaction) => {
    await onFirestore.fence(leadership, transaction);
    transaction.set(firestore.doc(`bills/${bill.id}`), bill);
  });

  await connection.beginTransaction();
  await onMySql.fence(leadership, connection); // renewals go on, however long the transaction takes
  await connection.query("INSERT INTO bills SET ?", [bill]);
  await connection.commit();

  return [onSqlite, onPostgres];
}
