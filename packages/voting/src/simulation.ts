// Exports for a program that has its own disk and network: the simulation of this repository.
export { Server, type ServerOptions } from "./server.ts";
export type { Disk } from "./state-writer.ts";
export type { Transport } from "./peer-links.ts";
export { OBSERVER, type VoterReply, type Envelope, type Request } from "./messages.ts";
export { administrationOf } from "./administration.ts";
export { VotingLeaseStore } from "./voting-lease-store.ts";
