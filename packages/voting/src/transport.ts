import type { Answer, Envelope, Request } from "./messages.ts";

/** The way to the other servers. */
export interface Transport {
  /**
   * Sends a message to another server, and resolves with what that answers. Rejects when there is no answer in time, or none
   * that can be trusted.
   */
  send(message: Envelope<Request>, timeoutMs: number): Promise<Envelope<Answer>>;
  /** Begins to receive, for this start of the server. The answer is undefined where there is to be none. */
  listen(receive: (message: Envelope<Request>) => Promise<Envelope<Answer> | undefined>, start: string): Promise<void>;
  close(): Promise<void>;
}
