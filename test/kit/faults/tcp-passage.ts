import type { Socket } from "node:net";
import { DelayLine } from "./delay-line.ts";

/** A proxy's present treatment of all that passes, and who wants to know of it. */
export interface TcpConditions {
  readonly requests: "pass" | "lose" | "hold";
  /** `cut`: half of what comes next is passed on, and the connection ends. */
  readonly replies: "pass" | "lose" | "cut";
  /** For how long whatever passes is kept first, in either direction. @defaultValue 0 */
  readonly delayMs?: number | undefined;
  /** The client has sent something. */
  onRequest(bytes: Buffer): void;
  /** Something is sent on to the service. @returns what to call when the service's system has taken it */
  onDelivery(): () => void;
  /** The service has answered something that the client will not see. */
  onLostReply(): void;
}

/** What a gateway does with a connection that it knows nothing of any more. */
const FORGOTTEN: TcpConditions = {
  requests: "lose",
  replies: "lose",
  onRequest: () => undefined,
  onDelivery: () => () => undefined,
  onLostReply: () => undefined,
};

/** A piece that a client has sent: bytes, or the end. */
type Sent = Buffer | "end";

/**
 * One client's connection and the one to the service that belongs to it. What has passed, and what is held, goes its
 * way even if the client goes away. Where bytes are lost, the end of a connection is lost as well.
 */
export class TcpPassage {
  readonly #client: Socket;
  readonly #service: Socket;
  #conditions: TcpConditions;
  readonly #requestsUnderWay = new DelayLine();
  readonly #repliesUnderWay = new DelayLine();
  #held: Sent[] = [];
  #hasLostRequests = false;
  #hasLostReplies = false;

  /** Both sockets have to allow half-open connections. */
  constructor(client: Socket, service: Socket, conditions: TcpConditions) {
    this.#client = client;
    this.#service = service;
    this.#conditions = conditions;
    client.setNoDelay(true);
    service.setNoDelay(true);
    this.#relayRequests();
    this.#relayReplies();
  }

  /** Something was lost on it: neither side can make sense of the rest. */
  get hasLost(): boolean {
    return this.#hasLostRequests || this.#hasLostReplies;
  }

  /** Resolves once both connections are closed. */
  async closed(): Promise<void> {
    const isClosed = async (socket: Socket): Promise<void> => {
      if (!socket.closed) await new Promise<void>((resolve) => socket.once("close", () => resolve()));
    };
    await Promise.all([isClosed(this.#client), isClosed(this.#service)]);
  }

  /** Delivers what was held, in the order in which it came. */
  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const sent of held) this.#pass(sent);
  }

  /** Loses everything from now on, without a word to either side. */
  forget(): void {
    this.#conditions = FORGOTTEN;
    this.#hasLostRequests = true;
    this.#hasLostReplies = true;
    this.#held = [];
    this.#requestsUnderWay.clear();
    this.#repliesUnderWay.clear();
  }

  /** Breaks both connections (the client sees a reset), with what is held or delayed. */
  destroy(): void {
    this.#held = [];
    this.#requestsUnderWay.clear();
    this.#repliesUnderWay.clear();
    this.#client.resetAndDestroy();
    this.#service.destroy();
  }

  #relayRequests(): void {
    this.#client.on("data", (chunk: Buffer) => {
      this.#conditions.onRequest(chunk);
      this.#accept(chunk);
    });
    this.#client.on("end", () => this.#accept("end"));
    // A reset, which "close" reports too.
    this.#client.on("error", () => {});
    this.#client.once("close", (hadError) => {
      if (hadError) this.#accept("end");
      // Nobody reads the replies any more, and unread ones would keep the service's connection open.
      this.#service.resume();
    });
    this.#service.on("drain", () => this.#client.resume());
  }

  #relayReplies(): void {
    this.#service.on("data", (chunk: Buffer) => {
      if (this.#conditions.replies === "lose") {
        this.#hasLostReplies = true;
        this.#conditions.onLostReply();
      } else if (this.#conditions.replies === "cut") {
        this.#cutIn(chunk);
      } else {
        this.#passBack(() => {
          if (this.#client.writable && !this.#client.write(chunk)) this.#service.pause();
        });
      }
    });
    this.#service.on("end", () => {
      if (this.#conditions.replies === "lose") this.#hasLostReplies = true;
      else this.#passBack(() => this.#client.end());
    });
    this.#service.on("error", () => {});
    this.#service.once("close", (hadError) => {
      if (this.#conditions.replies === "lose") this.#hasLostReplies = true;
      else if (hadError) this.#client.resetAndDestroy();
      else this.#passBack(() => this.#client.destroySoon());
    });
    this.#client.on("drain", () => this.#service.resume());
  }

  #accept(sent: Sent): void {
    // What follows a gap can never be delivered.
    switch (this.#hasLostRequests ? "lose" : this.#conditions.requests) {
      case "lose":
        this.#hasLostRequests = true;
        return;
      case "hold":
        this.#held.push(sent);
        return;
      case "pass":
        this.#pass(sent);
    }
  }

  #pass(sent: Sent): void {
    this.#requestsUnderWay.pass(() => this.#deliver(sent), this.#conditions.delayMs);
  }

  #passBack(deliver: () => void): void {
    this.#repliesUnderWay.pass(deliver, this.#conditions.delayMs);
  }

  /** Not a reset, which would take back what the client has not read yet. */
  #cutIn(reply: Buffer): void {
    this.#held = [];
    this.#service.removeAllListeners("data").destroy();
    if (this.#client.writable) this.#client.end(reply.subarray(0, reply.length / 2), () => this.#client.destroy());
  }

  #deliver(sent: Sent): void {
    if (sent === "end") {
      this.#service.end();
      return;
    }
    const taken = this.#conditions.onDelivery();
    const hasRoom = this.#service.write(sent, (error) => {
      if (error === null || error === undefined) taken();
    });
    if (!hasRoom) this.#client.pause();
  }
}
