import type { Socket } from "node:net";
import { DelayLine } from "./delay-line.ts";

/** A proxy's present treatment of all data, and the callbacks about it. */
export interface TcpConditions {
  readonly requests: "pass" | "lose" | "hold";
  /** `cut`: half of the next data is passed on, and the connection ends. */
  readonly replies: "pass" | "lose" | "cut";
  /** The time for which all data are held first, in either direction. @defaultValue 0 */
  readonly delayMs?: number | undefined;
  /** Called when the client has sent something. */
  onRequest(bytes: Buffer): void;
  /** Called when something is sent on to the service. @returns a function to call when the service's system has taken it */
  onDelivery(): () => void;
  /** Called when the service has answered something that the client will not get. */
  onLostReply(): void;
}

/** The behaviour of a gateway that has forgotten a connection. */
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
 * One client's connection, and the connection to the service that belongs to it. Data that have passed, and held data, continue
 * even if the client goes away. If bytes are lost, the end of a connection is lost as well.
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

  /** True if something was lost on it, so that neither side can understand the rest. */
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

  /** Delivers held data, in the order in which they came. */
  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const sent of held) this.#pass(sent);
  }

  /** Loses everything from now on, without an end or a reset on either side. */
  forget(): void {
    this.#conditions = FORGOTTEN;
    this.#hasLostRequests = true;
    this.#hasLostReplies = true;
    this.#held = [];
    this.#requestsUnderWay.clear();
    this.#repliesUnderWay.clear();
  }

  /** Breaks both connections (the client sees a reset), with their held or delayed data. */
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
    // A reset, which "close" reports, too.
    this.#client.on("error", () => {});
    this.#client.once("close", (hadError) => {
      if (hadError) this.#accept("end");
      // The replies have no reader any more. Unread replies would keep the service's connection open.
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
    // Data after a gap can never be delivered.
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

  /** Ends without a reset, which would discard data that the client has not read yet. */
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
