export type { QuorumLeaseStoreOptions, QuorumMember } from "./options.ts";
export { QuorumLeaseStore } from "./quorum-lease-store.ts";
