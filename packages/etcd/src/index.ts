export { EtcdLeaseStore } from "./etcd-lease-store.ts";
export type { EtcdLeaseStoreOptions, EtcdTls } from "./options.ts";
export { EtcdFailure, type CallOptions, type EtcdPath, type EtcdReply, type EtcdTransport, type Json } from "./transport.ts";
export type { EtcdCompare } from "./wire.ts";
export { fromUrl } from "./from-url.ts";
