import type { Contender } from "./contender.ts";

// Each library is loaded at its first use, together with its client.
const ours = async (...of: Parameters<(typeof import("./leasehold.ts"))["leaseholdOn"]>) =>
  (await import("./leasehold.ts")).leaseholdOn(...of);

/** All libraries that are compared, in the order of the tables. */
export const CONTENDERS = {
  "leasehold-dynamodb": {
    title: "Leasehold on DynamoDB",
    service: "dynamodb",
    packages: ["@aws-sdk/client-dynamodb"],
    load: () => ours("dynamodb", (host) => `http://${host}`),
  },
  "leasehold-azure": {
    title: "Leasehold on Azure",
    service: "azure",
    packages: ["@azure/storage-blob"],
    load: () => ours("azure", (host) => `http://${host}`),
  },
  "leasehold-postgres": {
    title: "Leasehold on PostgreSQL",
    service: "postgres",
    packages: ["pg"],
    load: () => ours("postgres", (host) => `postgresql://postgres@${host}/postgres`),
  },
  "leasehold-etcd": {
    title: "Leasehold on etcd",
    service: "etcd",
    packages: [],
    load: () => ours("etcd", (host) => `http://${host}`),
  },
  "dynamodb-lock-client": {
    title: "dynamodb-lock-client",
    service: "dynamodb",
    packages: ["dynamodb-lock-client", "aws-sdk"],
    load: async () => (await import("./dynamodb-lock-client.ts")).dynamodbLockClient,
  },
  etcd3: {
    title: "etcd3",
    service: "etcd",
    packages: ["etcd3"],
    load: async () => (await import("./etcd3.ts")).etcd3,
  },
  "redlock-4": {
    title: "redlock 4",
    service: "redis",
    packages: ["redlock-4", "ioredis"],
    load: async () => (await import("./redlock-4.ts")).redlock4,
  },
  "redlock-5": {
    title: "redlock 5",
    service: "redis",
    packages: ["redlock-5", "ioredis"],
    load: async () => (await import("./redlock-5.ts")).redlock5,
  },
} as const satisfies Record<string, Contender>;

export type ContenderName = keyof typeof CONTENDERS;
export const CONTENDER_NAMES: readonly ContenderName[] = Object.keys(CONTENDERS) as ContenderName[];

export function contenderOf(name: ContenderName): Contender {
  return CONTENDERS[name];
}
