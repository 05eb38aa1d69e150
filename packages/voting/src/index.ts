export { VotingLeaseStore } from "./voting-lease-store.ts";
