export { DROPPED_CHANNEL, type DroppedPacket } from "./warning-log.ts";
export { VotingObserver, type VotingObserverOptions } from "./voting-observer.ts";
export type { Secret } from "./packet.ts";
export { VotingLeaseStore } from "./voting-lease-store.ts";
export type { VotingLeaseStoreOptions, VotingTls } from "./options.ts";
export { fromUrl } from "./from-url.ts";
