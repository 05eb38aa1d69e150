import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { BlobServiceClient, ContainerClient, ContainerSASPermissions, StorageSharedKeyCredential } from "@azure/storage-blob";
import { Firestore } from "@google-cloud/firestore";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import type { LeaseStore } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { RedisLeaseStore } from "@leasehold/redis";
import { SqlLeaseStore } from "@leasehold/sql";
import { azuriteConnectionString } from "@leasehold/test-kit/backends/azurite";
import { kubeConfigOf } from "@leasehold/test-kit/stores/kubernetes";
import { createConnection } from "mysql2/promise";
import { Client } from "pg";

/** The services on which the mistakes are made. */
export interface Services {
  /** The URLs of Azurite, dynalite, MariaDB and PostgreSQL. The databases are empty. */
  readonly azurite: string;
  readonly dynalite: string;
  readonly mysql: string;
  readonly postgres: string;
  /** An etcd that requires a password. The user {@link READER} may read everything and write nothing. */
  readonly etcd: string;
  /** A Redis that requires a password. The user {@link READER} may read everything and write nothing. */
  readonly redis: string;
  /** An API server that takes the token of {@link READER}, who may read everything and write nothing. */
  readonly kubernetes: string;
  /** A DynamoDB with the table, and the host of a Firestore. Both refuse every write. */
  readonly readableItems: string;
  /** An S3, one that refuses every write, and one that ignores the conditions of writes. */
  readonly objects: string;
  readonly readableObjects: string;
  readonly laxObjects: string;
  readonly readableDocuments: string;
  /** The path of a file that is no database. */
  readonly text: string;
}

type Mistakes = Readonly<Record<string, (services: Services) => LeaseStore | Promise<LeaseStore>>>;

export const CLOSED = "127.0.0.1:1";
export const UNKNOWN = "nowhere.invalid";
const ACCOUNT = "devstoreaccount1";
/** A key of the right length that belongs to no account. */
const WRONG_KEY = Buffer.alloc(64, 1).toString("base64");
/** A user of etcd and of Redis. */
export const READER = { user: "reader", password: "lamplight" };
export const AWS = { region: "eu-west-1", credentials: { accessKeyId: "any", secretAccessKey: "any" } };

/** The setup mistakes of new users, by store. */
export const MISTAKES: Readonly<Record<string, Mistakes>> = {
  "Azure Blob Storage": {
    "the key is wrong": ({ azurite }) => blobs(`${azurite}/${ACCOUNT}`, WRONG_KEY),
    "the container is missing": ({ azurite }) =>
      new BlobLeaseStore({ connectionString: azuriteConnectionString(azurite), containerName: "missing" }),
    "it may read and not write": ({ azurite }) => readableBlobs(azurite),
    "nobody is logged in": () =>
      new BlobLeaseStore({
        accountUrl: "https://acme.blob.core.windows.net",
        containerName: "leases",
        credential: { getToken: async () => Promise.reject(nobodyIsLoggedIn()) },
      }),
    "nobody listens": () => blobs(`http://${CLOSED}/${ACCOUNT}`, WRONG_KEY),
    "the host is unknown": () => blobs(`http://${UNKNOWN}/${ACCOUNT}`, WRONG_KEY),
  },
  DynamoDB: {
    "no region is set": () => items({ region: (): Promise<string> => Promise.reject(new Error("Region is missing")) }),
    "nobody is logged in": ({ dynalite }) =>
      items({ ...AWS, endpoint: dynalite, credentials: async () => Promise.reject(noAwsCredentials()) }),
    "the table is missing": ({ dynalite }) => items({ ...AWS, endpoint: dynalite }),
    "it may read and not write": ({ readableItems }) => items({ ...AWS, endpoint: readableItems }),
    "nobody listens": () => items({ ...AWS, endpoint: `http://${CLOSED}` }),
    "the host is unknown": () => items({ ...AWS, endpoint: `http://${UNKNOWN}` }),
  },
  Firestore: {
    "no project is set": () => new FirestoreLeaseStore({ firestore: new Firestore() }),
    "nobody is logged in": () => new FirestoreLeaseStore({ firestore: new Firestore({ projectId: "acme" }) }),
    "it may read and not write": ({ readableDocuments }) => documents(readableDocuments),
    "nobody listens": () => documents(CLOSED),
    "the host is unknown": () => documents(`${UNKNOWN}:443`),
  },
  etcd: {
    "the password is wrong": ({ etcd }) => new EtcdLeaseStore({ endpoints: etcd, user: "reader", password: "wrong" }),
    "no user is given": ({ etcd }) => new EtcdLeaseStore({ endpoints: etcd }),
    "it may read and not write": ({ etcd }) => new EtcdLeaseStore({ endpoints: etcd, ...READER }),
    "the URL says https, and etcd speaks http": ({ etcd }) =>
      new EtcdLeaseStore({ endpoints: etcd.replace("http:", "https:"), ...READER }),
    "another service is there": ({ azurite }) => new EtcdLeaseStore({ endpoints: azurite }),
    "nobody listens": () => new EtcdLeaseStore({ endpoints: `http://${CLOSED}` }),
    "the host is unknown": () => new EtcdLeaseStore({ endpoints: `http://${UNKNOWN}:2379` }),
  },
  S3: {
    "no region is set": () => objects({ region: (): Promise<string> => Promise.reject(new Error("Region is missing")) }),
    "nobody is logged in": ({ objects: endpoint }) =>
      objects({ ...AWS, endpoint, credentials: async () => Promise.reject(noAwsCredentials()) }),
    "the bucket is missing": ({ objects: endpoint }) => objects({ ...AWS, endpoint }, "missing"),
    "it may read and not write": ({ readableObjects: endpoint }) => objects({ ...AWS, endpoint }),
    "the service ignores conditions": ({ laxObjects: endpoint }) => objects({ ...AWS, endpoint }),
    "nobody listens": () => objects({ ...AWS, endpoint: `http://${CLOSED}` }),
    "the host is unknown": () => objects({ ...AWS, endpoint: `http://${UNKNOWN}` }),
  },
  Redis: {
    "the password is wrong": ({ redis }) => keys(`reader:wrong@${redis}`),
    "no user is given": ({ redis }) => keys(redis),
    "it may read and not write": ({ redis }) => keys(`${READER.user}:${READER.password}@${redis}`),
    "nobody listens": () => keys(CLOSED),
    "the host is unknown": () => keys(`${UNKNOWN}:6379`),
  },
  Kubernetes: {
    "the token is wrong": ({ kubernetes }) => leases(kubernetes, { token: "wrong" }),
    "no token is given": ({ kubernetes }) => leases(kubernetes),
    "it may read and not write": ({ kubernetes }) => leases(kubernetes, { token: READER.password }),
    "another service is there": ({ azurite }) => leases(azurite),
    "nobody listens": () => leases(`http://${CLOSED}`),
    "the host is unknown": () => leases(`https://${UNKNOWN}:6443`),
  },
  MySQL: servers("mysql", ({ mysql }) => mysql),
  PostgreSQL: servers("postgres", ({ postgres }) => postgres),
  SQLite: {
    "the folder is missing": () => new SqlLeaseStore({ sqlite: "/no/such/folder/leases.db" }),
    "the file is no database": ({ text }) => new SqlLeaseStore({ sqlite: text }),
  },
};

function servers(kind: "mysql" | "postgres", urlOf: (services: Services) => string): Mistakes {
  const store = (services: Services, changes: Partial<URL>): LeaseStore => {
    const { href } = Object.assign(new URL(urlOf(services)), changes);
    return new SqlLeaseStore(kind === "mysql" ? { mysql: href } : { postgres: href });
  };
  return {
    "the user is unknown": (services) => store(services, { username: "stranger", password: "wrong" }),
    "the database is missing": (services) => store(services, { pathname: "/missing" }),
    "the tables are missing": (services) => store(services, {}),
    "it may read and not write": async (services) => {
      await allowReading[kind](urlOf(services));
      return store(services, { username: "reader", password: "lamplight", pathname: "/readable" });
    },
    "nobody listens": (services) => store(services, { host: CLOSED }),
    "the host is unknown": (services) => store(services, { hostname: UNKNOWN }),
  };
}

/** Makes a database `readable` with the tables, and a user with only the right to read them. */
const allowReading = {
  async mysql(url: string): Promise<void> {
    const admin = await createConnection(url);
    await admin.query("CREATE DATABASE readable");
    await using store = new SqlLeaseStore({ mysql: Object.assign(new URL(url), { pathname: "/readable" }).href });
    await store.migrate();
    await admin.query("CREATE USER reader IDENTIFIED BY 'lamplight'");
    await admin.query("GRANT SELECT ON readable.* TO reader");
    await admin.end();
  },
  async postgres(url: string): Promise<void> {
    const admin = new Client(url);
    await admin.connect();
    await admin.query("CREATE DATABASE readable");
    await admin.query("CREATE ROLE reader LOGIN PASSWORD 'lamplight'");
    await admin.end();
    const readable = new URL(url);
    readable.pathname = "/readable";
    await using store = new SqlLeaseStore({ postgres: readable.href });
    await store.migrate();
    const owner = new Client(readable.href);
    await owner.connect();
    await owner.query("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
    await owner.end();
  },
};

async function readableBlobs(azurite: string): Promise<LeaseStore> {
  return new BlobLeaseStore({ container: new ContainerClient(await readableContainer(azurite)) });
}

/** Makes a container, and returns its URL with a signature that allows reading. */
async function readableContainer(azurite: string): Promise<string> {
  const service = BlobServiceClient.fromConnectionString(azuriteConnectionString(azurite));
  const container = service.getContainerClient("readable");
  await container.create();
  await container.getBlockBlobClient("nightly-billing").upload("", 0);
  return await container.generateSasUrl({
    permissions: ContainerSASPermissions.parse("rl"),
    expiresOn: new Date(Date.now() + 3_600_000),
  });
}

function blobs(accountUrl: string, key: string): LeaseStore {
  const credential = new StorageSharedKeyCredential(ACCOUNT, key);
  return new BlobLeaseStore({ accountUrl, containerName: "leases", credential });
}

export function items(settings: DynamoDBClientConfig): DynamoDBLeaseStore {
  return new DynamoDBLeaseStore({ tableName: "leases", client: new DynamoDBClient(settings) });
}

function objects(settings: S3ClientConfig, bucket = "leases"): LeaseStore {
  return new ObjectStorageLeaseStore({ client: new S3Client({ ...settings, forcePathStyle: true }), bucket });
}

function leases(server: string, user: object = {}): LeaseStore {
  return new KubernetesLeaseStore({ kubeConfig: kubeConfigOf(server, {}, user) });
}

function keys(authority: string): LeaseStore {
  return new RedisLeaseStore({ url: `redis://${authority}` });
}

function documents(host: string): LeaseStore {
  return new FirestoreLeaseStore({ firestore: new Firestore({ projectId: "acme", host, ssl: false }) });
}

/** The error of `@azure/identity`. */
function nobodyIsLoggedIn(): Error {
  const message = "ChainedTokenCredential authentication failed.";
  return Object.assign(new Error(message), { name: "AggregateAuthenticationError" });
}

/** The error of AWS's SDK. */
export function noAwsCredentials(): Error {
  return Object.assign(new Error("Could not load credentials from any providers"), { name: "CredentialsProviderError" });
}
