// For who brings a disk and a network of his own: the simulation of this repository.
export { Server, type ServerOptions } from "./server.ts";
export type { Disk } from "./disk.ts";
export type { Transport } from "./transport.ts";
export type { Answer, Envelope, Request } from "./messages.ts";
export { VotingLeaseStore } from "./voting-lease-store.ts";
