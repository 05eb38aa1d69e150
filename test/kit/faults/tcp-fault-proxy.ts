import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { TcpPassage } from "./tcp-passage.ts";
import type { TcpConditions } from "./tcp-passage.ts";

/**
 * A TCP proxy in this process, in front of one service. It does not know the service's protocol: it passes bytes, while
 * `FaultProxy` passes requests. At first everything passes.
 *
 * A fault lasts from the call that sets it to `heal`, on present and on new connections. Faults of requests and of replies are
 * combined; of two of the same kind the later one counts. The ends of connections are treated like bytes: if bytes are lost or
 * held, the other side does not learn of an end.
 */
export interface TcpFaultProxy extends AsyncDisposable {
  readonly hostname: "127.0.0.1";
  readonly port: number;
  /** The host name and the port, as in a URL: `127.0.0.1:40123`. */
  readonly host: string;
  /** The service's port on 127.0.0.1. A service that was started again may have another one. */
  targetPort: number;
  /** The number of pieces of data that clients have sent. A request is one or more of them. */
  readonly requestsSeen: number;
  /** Drops everything that clients send from now on. */
  loseRequests(): void;
  /** Drops everything that the service answers from now on. Requests are delivered. */
  loseReplies(): void;
  /**
   * Holds everything that clients send from now on, in any amount, even if they go away.
   * @returns a function that delivers everything in its order, connection by connection, and lets later data pass. It does
   * nothing after another fault of requests, `cut` or `heal`.
   */
  holdRequests(): () => void;
  /** Holds everything that either side sends from now on for `ms`, and then passes it on, in order. */
  delay(ms: number): void;
  /** Passes on half of the service's next answer, connection by connection, and breaks that connection. */
  cutReplies(): void;
  /**
   * Loses everything on all present connections from now on, without an end or a reset, like a gateway that has forgotten them.
   * New connections are served.
   */
  forget(): void;
  /**
   * Breaks all present connections, with the data that are held on them. A new one is broken as soon as it is made, before a byte
   * has passed. To refuse it, the proxy would have to give up its port.
   */
  cut(): void;
  /** Ends all faults. Delivers held data, and breaks connections on which something was lost, so that clients reconnect. */
  heal(): void;
  /**
   * Resolves once something was sent to the service since the last fault was set: the service's system has it.
   * @throws when the proxy stops.
   */
  waitForBytes(): Promise<void>;
  /**
   * Resolves once an answer of the service was dropped since the last fault was set. So the service has carried out that request.
   * @throws when the proxy stops.
   */
  waitForReplies(): Promise<void>;
  /** Breaks every connection on both sides. Held data are lost. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts a proxy on 127.0.0.1, on a free port, in front of the service at `targetPort` of 127.0.0.1.
 * @param onRequest receives every piece of data that a client sends, whatever happens to it.
 */
export async function startTcpFaultProxy(targetPort: number, onRequest?: (bytes: Buffer) => void): Promise<TcpFaultProxy> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return new ByteProxy(server, targetPort, onRequest);
}

class ByteProxy implements TcpFaultProxy, TcpConditions {
  readonly hostname = "127.0.0.1";
  readonly port: number;
  requests: TcpConditions["requests"] = "pass";
  replies: TcpConditions["replies"] = "pass";
  delayMs = 0;
  requestsSeen = 0;
  targetPort: number;
  readonly #server: Server;
  readonly #onRequest: ((bytes: Buffer) => void) | undefined;
  readonly #passages = new Set<TcpPassage>();
  readonly #delivered = new Occurrence();
  readonly #replyLost = new Occurrence();
  #isCut = false;
  #hold = Symbol("no hold");
  #stopped: Promise<void> | undefined;

  constructor(server: Server, targetPort: number, onRequest: ((bytes: Buffer) => void) | undefined) {
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
    this.targetPort = targetPort;
    this.#onRequest = onRequest;
    server.on("connection", (client: Socket) => this.#admit(client));
  }

  get host(): string {
    return `${this.hostname}:${this.port}`;
  }

  loseRequests(): void {
    this.#begin({ requests: "lose" });
  }

  loseReplies(): void {
    this.#begin({ replies: "lose" });
  }

  holdRequests(): () => void {
    this.#begin({ requests: "hold" });
    const hold = this.#hold;
    return () => {
      if (this.#hold !== hold) return;
      this.requests = "pass";
      for (const passage of this.#passages) passage.release();
    };
  }

  delay(ms: number): void {
    this.delayMs = ms;
  }

  cutReplies(): void {
    this.#begin({ replies: "cut" });
  }

  forget(): void {
    for (const passage of this.#passages) passage.forget();
  }

  cut(): void {
    this.#isCut = true;
    this.delayMs = 0;
    this.#begin({ requests: "pass", replies: "pass" });
    for (const passage of this.#passages) passage.destroy();
  }

  heal(): void {
    this.#isCut = false;
    this.delayMs = 0;
    this.#begin({ requests: "pass", replies: "pass" });
    for (const passage of this.#passages) {
      if (passage.hasLost) passage.destroy();
      else passage.release();
    }
  }

  async waitForBytes(): Promise<void> {
    await this.#delivered.happened();
  }

  async waitForReplies(): Promise<void> {
    await this.#replyLost.happened();
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  onRequest(bytes: Buffer): void {
    this.requestsSeen++;
    this.#onRequest?.(bytes);
  }

  onDelivery(): () => void {
    return this.#delivered.ahead();
  }

  onLostReply(): void {
    this.#replyLost.happen();
  }

  #begin(fault: Partial<Pick<TcpConditions, "requests" | "replies">>): void {
    this.requests = fault.requests ?? this.requests;
    this.replies = fault.replies ?? this.replies;
    if (fault.requests !== undefined) this.#hold = Symbol("hold");
    this.#delivered.reset();
    this.#replyLost.reset();
  }

  #admit(client: Socket): void {
    if (this.#isCut || this.#stopped !== undefined) {
      client.on("error", () => {}).resetAndDestroy();
      return;
    }
    const service = connect({ port: this.targetPort, host: this.hostname, allowHalfOpen: true });
    const passage = new TcpPassage(client, service, this);
    this.#passages.add(passage);
    void passage.closed().then(() => this.#passages.delete(passage));
  }

  async #close(): Promise<void> {
    const reason = new Error("The TCP fault proxy has been stopped.");
    this.#delivered.giveUp(reason);
    this.#replyLost.giveUp(reason);
    const closed = once(this.#server, "close");
    this.#server.close();
    const passages = [...this.#passages];
    for (const passage of passages) passage.destroy();
    await Promise.all([closed, ...passages.map(async (passage) => passage.closed())]);
  }
}

/** An event that has happened or not since the last `reset`, and the callers that wait for it. */
class Occurrence {
  #era = 0;
  #hasHappened = false;
  #givenUp: Error | undefined;
  readonly #waiting: Array<PromiseWithResolvers<void>> = [];

  happen(): void {
    this.#hasHappened = true;
    for (const waiter of this.#waiting.splice(0)) waiter.resolve();
  }

  /** Returns a function to call when work that begins now has ended. If that is after the next `reset`, it does not count. */
  ahead(): () => void {
    const era = this.#era;
    return () => {
      if (era === this.#era) this.happen();
    };
  }

  reset(): void {
    this.#era++;
    this.#hasHappened = false;
  }

  giveUp(reason: Error): void {
    this.#givenUp = reason;
    for (const waiter of this.#waiting.splice(0)) waiter.reject(reason);
  }

  async happened(): Promise<void> {
    if (this.#hasHappened) return;
    if (this.#givenUp !== undefined) throw this.#givenUp;
    const waiter = Promise.withResolvers<void>();
    this.#waiting.push(waiter);
    await waiter.promise;
  }
}
