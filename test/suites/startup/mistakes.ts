import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { StorageSharedKeyCredential } from "@azure/storage-blob";
import { Firestore } from "@google-cloud/firestore";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import type { LeaseStore } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { SqlLeaseStore } from "@leasehold/sql";
import { azuriteConnectionString } from "@leasehold/test-kit/backends/azurite";

/** The services that the mistakes are made on. */
export interface Services {
  /** Azurite, dynalite, MariaDB and PostgreSQL, by their URLs; the databases are empty. */
  readonly azurite: string;
  readonly dynalite: string;
  readonly mysql: string;
  readonly postgres: string;
}

type Mistakes = Readonly<Record<string, (services: Services) => LeaseStore>>;

const CLOSED = "127.0.0.1:1";
const UNKNOWN = "nowhere.invalid";
const ACCOUNT = "devstoreaccount1";
/** As long as a key has to be, and no account's. */
const WRONG_KEY = Buffer.alloc(64, 1).toString("base64");
const AWS = { region: "eu-west-1", credentials: { accessKeyId: "any", secretAccessKey: "any" } };

/** What new users set up wrongly, by store. */
export const MISTAKES: Readonly<Record<string, Mistakes>> = {
  "Azure Blob Storage": {
    "the key is wrong": ({ azurite }) => blobs(`${azurite}/${ACCOUNT}`, WRONG_KEY),
    "the container is missing": ({ azurite }) =>
      new BlobLeaseStore({ connectionString: azuriteConnectionString(azurite), containerName: "missing" }),
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
    "nobody listens": () => items({ ...AWS, endpoint: `http://${CLOSED}` }),
    "the host is unknown": () => items({ ...AWS, endpoint: `http://${UNKNOWN}` }),
  },
  Firestore: {
    "no project is set": () => new FirestoreLeaseStore({ firestore: new Firestore() }),
    "nobody is logged in": () => new FirestoreLeaseStore({ firestore: new Firestore({ projectId: "acme" }) }),
    "nobody listens": () => documents(CLOSED),
    "the host is unknown": () => documents(`${UNKNOWN}:443`),
  },
  MySQL: servers("mysql", ({ mysql }) => mysql),
  PostgreSQL: servers("postgres", ({ postgres }) => postgres),
  SQLite: {
    "the folder is missing": () => new SqlLeaseStore({ sqlite: "/no/such/folder/leases.db" }),
  },
};

function servers(kind: "mysql" | "postgres", urlOf: (services: Services) => string): Mistakes {
  const store = (services: Services, changes: Partial<URL>): LeaseStore =>
    new SqlLeaseStore({ [kind]: Object.assign(new URL(urlOf(services)), changes).href });
  return {
    "the user is unknown": (services) => store(services, { username: "stranger", password: "wrong" }),
    "the database is missing": (services) => store(services, { pathname: "/missing" }),
    "the tables are missing": (services) => store(services, {}),
    "nobody listens": (services) => store(services, { host: CLOSED }),
    "the host is unknown": (services) => store(services, { hostname: UNKNOWN }),
  };
}

function blobs(accountUrl: string, key: string): LeaseStore {
  const credential = new StorageSharedKeyCredential(ACCOUNT, key);
  return new BlobLeaseStore({ accountUrl, containerName: "leases", credential });
}

function items(settings: DynamoDBClientConfig): LeaseStore {
  return new DynamoDBLeaseStore({ tableName: "leases", client: new DynamoDBClient(settings) });
}

function documents(host: string): LeaseStore {
  return new FirestoreLeaseStore({ firestore: new Firestore({ projectId: "acme", host, ssl: false }) });
}

/** As `@azure/identity` says it. */
function nobodyIsLoggedIn(): Error {
  const message = "ChainedTokenCredential authentication failed.";
  return Object.assign(new Error(message), { name: "AggregateAuthenticationError" });
}

/** As AWS's SDK says it. */
function noAwsCredentials(): Error {
  return Object.assign(new Error("Could not load credentials from any providers"), { name: "CredentialsProviderError" });
}
