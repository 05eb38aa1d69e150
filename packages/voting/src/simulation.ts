// For who brings a disk and a network of his own: the simulation of this repository.
export { Server, type ServerOptions } from "./server.ts";
export type { Disk } from "./disk.ts";
export type { Transport } from "./transport.ts";
export { OBSERVER, type Answer, type Envelope, type Request } from "./messages.ts";
export { administrationOf } from "./administration.ts";
export { VotingLeaseStore } from "./voting-lease-store.ts";
