export type { QuorumLeaseStoreOptions, QuorumMember } from "./options.ts";
export { QuorumLeaseStore } from "./quorum-lease-store.ts";
export type { MemberCallOptions } from "./quorum-record-store.ts";
export { fromUrl } from "./from-url.ts";
