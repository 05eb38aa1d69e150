import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Faults, HeldRequests } from "@leasehold/conformance";
import { TcpPassage, type TcpConditions } from "../faults/tcp-passage.ts";

/** The time within which both ends notice a broken connection. */
const HEARD_MS = 20;
/** The time within which a service begins to answer a late request. It never answers a request that was aborted. */
const ANSWER_MS = 250;

export interface TcpNetworkOptions {
  /**
   * The bytes that tell a client to make its next requests on a new connection, and to go on waiting for replies on this one. For
   * a protocol in which all requests share one connection this is a GOAWAY. Without it, each connection is for one request at a
   * time.
   */
  readonly goAway?: Uint8Array | undefined;
  /** Called when the network has healed. Resolves once the client is ready for its next request. */
  readonly ready?: (() => Promise<unknown>) | undefined;
}

/**
 * The network between one process and a service on 127.0.0.1, which passes bytes. In contrast to a `TcpFaultProxy`, held bytes
 * stay held after the network has healed, connection by connection.
 */
export class TcpNetwork implements Faults, AsyncDisposable {
  readonly #server: Server;
  readonly #servicePort: number;
  readonly #options: TcpNetworkOptions;
  readonly #lines = new Set<Line>();
  #fault: NetworkFaults = FINE;

  private constructor(server: Server, servicePort: number, options: TcpNetworkOptions) {
    this.#server = server;
    this.#servicePort = servicePort;
    this.#options = options;
    server.on("connection", (client: Socket) => this.#admit(client));
  }

  static async open(servicePort: number, options: TcpNetworkOptions = {}): Promise<TcpNetwork> {
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TcpNetwork(server, servicePort, options);
  }

  /** The port that the client uses for the service. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resolves once a request that is sent now cannot get any further; `undefined` if it will be answered. */
  get farthest(): Promise<unknown> | undefined {
    return this.#fault.farthest;
  }

  async loseRequests(): Promise<void> {
    this.#begin({ requests: "lose", replies: "pass", farthest: Promise.resolve() });
  }

  async loseReplies(): Promise<void> {
    const { promise: farthest, resolve: lost } = Promise.withResolvers<void>();
    this.#begin({ requests: "pass", replies: "lose", farthest, lost });
  }

  async hold(): Promise<HeldRequests> {
    const { promise: arrived, resolve: sent } = Promise.withResolvers<void>();
    const fault: NetworkFaults = { requests: "hold", replies: "pass", farthest: Promise.resolve(), sent };
    this.#begin(fault);
    const letGo = async (): Promise<void> => {
      const held = [...this.#lines].filter((line) => line.holds === fault);
      await Promise.all(held.map((line) => line.letGo()));
    };
    return { arrived, letGo };
  }

  async heal(): Promise<void> {
    this.#begin(FINE);
    const broken = [...this.#lines].filter((line) => line.hasLost);
    for (const line of broken) line.break();
    await Promise.all(broken.map((line) => line.closed()));
    const { goAway } = this.#options;
    for (const line of this.#lines) {
      if (!line.holds) line.deliver();
      else if (goAway) line.tell(goAway);
    }
    await delay(HEARD_MS);
    await this.#options.ready?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const line of this.#lines) line.break();
    await closed;
  }

  #begin(fault: NetworkFaults): void {
    this.#fault = fault;
    for (const line of this.#lines) line.networkFaults = fault;
  }

  #admit(client: Socket): void {
    const line = new Line(client, this.#servicePort);
    line.networkFaults = this.#fault;
    this.#lines.add(line);
    void line.closed().then(() => this.#lines.delete(line));
  }
}

/** The present fault of everything that is sent. */
interface NetworkFaults {
  readonly requests: TcpConditions["requests"];
  readonly replies: TcpConditions["replies"];
  readonly farthest?: Promise<unknown>;
  /** Called when something is sent. */
  readonly sent?: () => void;
  /** Called when a reply is lost. */
  readonly lost?: () => void;
}
const FINE: NetworkFaults = { requests: "pass", replies: "pass" };

/** One connection. */
class Line implements TcpConditions {
  networkFaults: NetworkFaults = FINE;
  /** The fault under which something was held that still is. */
  holds: NetworkFaults | undefined;
  readonly #client: Socket;
  readonly #service: Socket;
  readonly #passage: TcpPassage;

  constructor(client: Socket, servicePort: number) {
    this.#client = client;
    this.#service = connect({ port: servicePort, host: "127.0.0.1", allowHalfOpen: true });
    this.#passage = new TcpPassage(client, this.#service, this);
  }

  get requests(): TcpConditions["requests"] {
    return this.holds ? "hold" : this.networkFaults.requests;
  }

  get replies(): TcpConditions["replies"] {
    return this.networkFaults.replies;
  }

  onRequest(): void {
    if (this.networkFaults.requests === "hold") this.holds ??= this.networkFaults;
    this.networkFaults.sent?.();
  }

  onDelivery(): () => void {
    return () => undefined;
  }

  onLostReply(): void {
    this.networkFaults.lost?.();
  }

  get hasLost(): boolean {
    return this.#passage.hasLost;
  }

  /** Sends the client bytes that do not come from the service. */
  tell(bytes: Uint8Array): void {
    if (this.#client.writable) this.#client.write(bytes);
  }

  /** Delivers the end of a connection on which nothing else was held. */
  deliver(): void {
    this.#passage.release();
  }

  /** Delivers the held bytes. Resolves when the service has answered, or when its time to answer has passed. */
  async letGo(): Promise<void> {
    const answered = once(this.#service, "data", { signal: AbortSignal.timeout(ANSWER_MS) });
    this.holds = undefined;
    this.#passage.release();
    await answered.catch(() => undefined);
    // Waits for the rest of the answer.
    await delay(1);
  }

  break(): void {
    this.#passage.destroy();
  }

  async closed(): Promise<void> {
    await this.#passage.closed();
  }
}
