import type { OpenStore, StoreSettings, TestStore } from "./test-store.ts";

// Each store is loaded at its first use, and with it its SDK.
const STORES = {
  sqlite: async () => (await import("./sqlite.ts")).sqlite,
  azure: async () => (await import("./azure.ts")).azure,
  dynamodb: async () => (await import("./dynamodb.ts")).dynamodb,
  firestore: async () => (await import("./firestore.ts")).firestore,
  etcd: async () => (await import("./etcd.ts")).etcd,
  mysql: async () => (await import("./mysql.ts")).mysql,
  postgres: async () => (await import("./postgres.ts")).postgres,
  kubernetes: async () => (await import("./kubernetes.ts")).kubernetes,
  redis: async () => (await import("./redis.ts")).redis,
  s3: async () => (await import("./s3.ts")).s3,
  quorum: async () => (await import("./quorum.ts")).quorum,
  voting: async () => (await import("./voting.ts")).voting,
} satisfies Record<string, () => Promise<TestStore>>;

export type StoreName = keyof typeof STORES;

/** Every store with a service that runs on one machine; `sqlite` and `voting` need none, and `quorum` starts its members. */
export const STORE_NAMES: readonly StoreName[] = Object.keys(STORES) as StoreName[];

export async function testStore(name: StoreName): Promise<TestStore> {
  return await STORES[name]();
}

/** Connects to the service of the store that the settings name. */
export async function openStore(settings: StoreSettings): Promise<OpenStore> {
  return await (await testStore(settings.store)).open(settings);
}
