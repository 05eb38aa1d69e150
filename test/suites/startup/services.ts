import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { enableAuth, startEtcd } from "@leasehold/test-kit/backends/etcd";
import { startKubernetes } from "@leasehold/test-kit/backends/kubernetes";
import { startMariaDb } from "@leasehold/test-kit/backends/mariadb";
import { startPostgres } from "@leasehold/test-kit/backends/postgres";
import { requirePassword, startRedis } from "@leasehold/test-kit/backends/redis";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { onlyFor, startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { startFirestoreServer, type Fault as DocumentFault, type InterceptedCall } from "@leasehold/test-kit/firestore-server";
import { xmlError, type ObjectReply, type ObjectRequest } from "@leasehold/test-kit/object-server/messages";
import { startObjectServer } from "@leasehold/test-kit/object-server/server";
import { AWS, items, READER, type Services } from "./mistakes.ts";

/** Starts all services. */
export async function startServices(): Promise<Services & AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  const azurite = started.use(await startAzurite());
  const dynalite = started.use(await startDynalite());
  const mysql = started.use(await startMariaDb());
  const postgres = started.use(await startPostgres());
  const etcd = started.use(await startEtcd());
  await enableAuth(etcd, READER, ["nightly-billing/", ".leasehold/"], "read");
  const redis = started.use(await startRedis());
  await requirePassword(redis, READER, "leasehold:*");
  const kubernetes = started.use(await startKubernetes());
  kubernetes.api.tokens = new Set([READER.password]);
  kubernetes.api.allows = (verb) => verb === "get" || verb === "watch" || verb === "review";
  const withTable = started.use(await startDynalite());
  await items({ ...AWS, endpoint: withTable.url }).createTable();
  const readableItems = started.use(
    await startFaultProxy(withTable.url, { nameOf: ({ headers }) => String(headers["x-amz-target"]) }),
  );
  readableItems.rule = onlyFor("DynamoDB_20120810.UpdateItem", ITEM_REFUSED);
  const objects = started.use(await startObjectServer({ protocol: "s3" }));
  const readableObjects = started.use(await startObjectServer({ protocol: "s3" }));
  readableObjects.intercept = refuseObject;
  const laxObjects = started.use(await startObjectServer({ protocol: "s3" }));
  laxObjects.bucket.laxity = "ignores-version";
  const readableDocuments = started.use(await startFirestoreServer({ intercept: refuseDocuments }));
  const folder = started.adopt(await mkdtemp(join(tmpdir(), "leasehold-startup-")), (path) => rm(path, { recursive: true }));
  const text = join(folder, "notes.txt");
  await writeFile(text, "This is no database.\n".repeat(100));
  const services = started.move();
  return {
    azurite: azurite.url,
    dynalite: dynalite.url,
    mysql: mysql.url,
    postgres: postgres.url,
    etcd: etcd.url,
    redis: `127.0.0.1:${redis.port}`,
    kubernetes: kubernetes.url,
    readableItems: readableItems.url,
    objects: objects.url,
    readableObjects: readableObjects.url,
    laxObjects: laxObjects.url,
    readableDocuments: readableDocuments.url,
    text,
    [Symbol.asyncDispose]: async () => await services.disposeAsync(),
  };
}

/** AWS's refusal. dynalite has no access rights, nor does our Firestore. */
const ITEM_REFUSED: Fault = {
  kind: "answer",
  status: 400,
  headers: { "Content-Type": "application/x-amz-json-1.0", "x-amzn-RequestId": "QH3QHGQ2JJ8UGV5K" },
  body: JSON.stringify({
    __type: "com.amazon.coral.service#AccessDeniedException",
    Message: "User: arn:aws:sts::123456789012:assumed-role/worker is not authorized to perform: dynamodb:UpdateItem",
  }),
};

function refuseObject({ method }: ObjectRequest): ObjectReply | undefined {
  if (method !== "PUT") return undefined;
  const headers = { "x-amz-request-id": "QH3QHGQ2JJ8UGV5K", "content-type": "application/xml" };
  const user = "arn:aws:sts::123456789012:assumed-role/worker";
  return { status: 403, headers, body: xmlError("AccessDenied", `User: ${user} is not authorized to perform: s3:PutObject`) };
}

async function refuseDocuments({ method }: InterceptedCall): Promise<DocumentFault | void> {
  const PERMISSION_DENIED = 7;
  if (method === "Commit") return { code: PERMISSION_DENIED, message: "Missing or insufficient permissions." };
}
