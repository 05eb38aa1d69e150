export { KubernetesLeaseStore } from "./kubernetes-lease-store.ts";
export type { KubernetesLeaseStoreOptions } from "./options.ts";
export { fromUrl } from "./from-url.ts";
