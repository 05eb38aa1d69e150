import type { VoterReply, Envelope, Request } from "./messages.ts";

/** Carries messages between this server and the others. */
export interface Transport {
  /**
   * Sends a message to another server, and resolves with its answer. Rejects if no answer comes in time, or none that can be
   * trusted.
   */
  send(message: Envelope<Request>, timeoutMs: number): Promise<Envelope<VoterReply>>;
  /** Begins to receive messages for this start of the server. `receive` resolves with undefined if no answer is to be sent. */
  listen(receive: (message: Envelope<Request>) => Promise<Envelope<VoterReply> | undefined>, start: string): Promise<void>;
  close(): Promise<void>;
}
