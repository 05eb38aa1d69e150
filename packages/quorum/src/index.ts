export type { QuorumLeaseStoreOptions, QuorumMember } from "./options.ts";
export { QuorumLeaseStore } from "./quorum-lease-store.ts";
export type { SealOptions } from "./quorum-record-store.ts";
