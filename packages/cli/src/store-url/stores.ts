/** A package that opens stores by URLs. */
export interface StorePackage {
  readonly name: string;
  /** The schemes of its URLs, each with an example for the help. */
  readonly schemes: Readonly<Record<string, string>>;
  /** The optional packages that a usual installation has, too. */
  readonly beside: readonly string[];
}

/** Every store, by its package. A package exports `fromUrl`, and is loaded only for a URL of its schemes. */
export const STORES: readonly StorePackage[] = [
  store("azure-blob", { "azure-blob": "azure-blob://ACCOUNT/CONTAINER" }, ["@azure/identity"]),
  store("dynamodb", { dynamodb: "dynamodb://TABLE?region=eu-west-1" }),
  store("firestore", { firestore: "firestore://PROJECT/COLLECTION" }),
  store("etcd", { etcd: "etcd://HOST,HOST,HOST?prefix=/services/", etcds: "etcds://HOST?ca=/etc/etcd/ca.pem" }),
  store("kubernetes", { kubernetes: "kubernetes://default" }, ["yaml"]),
  store("redis", { redis: "redis://HOST", rediss: "rediss://HOST" }, ["ioredis"]),
  store("object-storage", { s3: "s3://acme-leases/billing", gs: "gs://acme-leases/billing" }),
  store("sql", {
    sqlite: "sqlite:///var/lib/app/app.db",
    postgres: "postgres://host/db",
    postgresql: "postgres://host/db",
    mysql: "mysql://host/db",
  }),
  store("voting", {
    voting: "voting://HOST:7400,HOST:7400,HOST:7400",
    votings: "votings://HOST:7400,HOST:7400,HOST:7400?ca=/etc/leasehold/ca.pem",
  }),
  store("quorum", { quorum: "quorum:///etc/leasehold/members.json" }),
];

function store(folder: string, schemes: StorePackage["schemes"], beside: readonly string[] = []): StorePackage {
  return { name: `@leasehold/${folder}`, schemes, beside };
}
