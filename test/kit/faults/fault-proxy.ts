import { once } from "node:events";
import { createServer, STATUS_CODES } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { blobRequestName } from "./blob-request-name.ts";
import type { Fault } from "./fault.ts";
import { firstHalf, receive, relay, relayOpen } from "./http-relay.ts";
import type { WholeReply, WholeRequest } from "./http-relay.ts";
import { RequestLog } from "./request-log.ts";
import type { OpenDelivery, OpenRecord, ProxiedRequest, ReceivedRequest } from "./request-log.ts";

/** The options of a proxy. */
export interface FaultProxyOptions {
  /** Returns the `name` of a request. @defaultValue `blobRequestName` */
  readonly nameOf?: ((request: ReceivedRequest) => string) | undefined;
  /**
   * Returns true for a request whose reply continues for as long as the client wants it; its reply is passed on piece by piece.
   * Such a request has no effect at the service. So a fault of its reply also keeps the request from the service. @defaultValue
   * none
   */
  readonly isStream?: ((request: ReceivedRequest) => boolean) | undefined;
}

/** Chooses the fault of a request that has arrived; `undefined` lets it through. */
export type FaultRule = (request: ProxiedRequest) => Fault | undefined;

/** Returns a rule for the requests of one name only. */
export function onlyFor(name: string, fault: Fault): FaultRule {
  return (request) => (request.name === name ? fault : undefined);
}

/**
 * An HTTP/1.1 proxy in this process, in front of one service. It records the requests that it receives, and applies the faults of
 * a network to them. A request that has arrived whole continues, whatever happens to its client. If the service cannot be
 * reached, or hangs up, the client sees a closed connection.
 */
export interface FaultProxy extends AsyncDisposable {
  /** The origin to use in place of the service's, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Every request since the start or the last `clear`, in the order in which they had arrived whole. */
  readonly requests: readonly ProxiedRequest[];
  /** Called once for each request. @defaultValue `undefined`, which lets everything through */
  rule: FaultRule | undefined;
  /** Called for each piece of a stream: false loses it, and the stream continues. @defaultValue `undefined`, which loses none */
  passes: ((piece: Buffer) => boolean) | undefined;
  /**
   * While true, nothing passes between the clients and this proxy, and nothing of that time arrives after the partition has
   * healed. A request that arrives is recorded and goes no further; a reply or a fault that is due is dropped. Requests that have
   * passed the proxy before, delayed or held, still reach the service.
   */
  partition(on: boolean): void;
  /** Forgets the recorded requests. */
  clear(): void;
  /**
   * Resolves with the first recorded request that matches, now or later. `matches` is called again whenever a request arrives, is
   * sent on, gets the service's reply, or is answered.
   * @throws when the proxy stops.
   */
  waitFor(matches: (request: ProxiedRequest) => boolean): Promise<ProxiedRequest>;
  /** Closes every connection on both sides. Delayed and held requests are lost. May be called again. */
  stop(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1, on a free port, in front of the service at the origin of `targetUrl`. */
export async function startFaultProxy(targetUrl: string, options: FaultProxyOptions = {}): Promise<FaultProxy> {
  const server = createServer();
  // A proxy that closed connections by itself would add failures for which there is no rule.
  server.keepAliveTimeout = 0;
  server.headersTimeout = 0;
  server.requestTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return new HttpFaultProxy(server, new URL(targetUrl), options);
}

/** One request on its way: its content, its client, and its record. */
interface Passage {
  readonly request: WholeRequest;
  readonly response: ServerResponse;
  readonly record: OpenRecord;
  readonly isStream: boolean;
}

class HttpFaultProxy implements FaultProxy {
  readonly url: string;
  rule: FaultRule | undefined;
  passes: FaultProxy["passes"];
  readonly #server: Server;
  readonly #target: URL;
  readonly #nameOf: (request: ReceivedRequest) => string;
  readonly #isStream: (request: ReceivedRequest) => boolean;
  readonly #log = new RequestLog();
  readonly #sockets = new Set<Socket>();
  readonly #stopping = new AbortController();
  #partitioned = false;
  #stopped: Promise<void> | undefined;

  constructor(server: Server, target: URL, { nameOf = blobRequestName, isStream = () => false }: FaultProxyOptions) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.#server = server;
    this.#target = target;
    this.#nameOf = nameOf;
    this.#isStream = isStream;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("request", (incoming: IncomingMessage, response: ServerResponse) => {
      // A rule that throws is a bug in a test. Nothing catches the error, so it ends the run and shows its stack.
      void this.#serve(incoming, response);
    });
  }

  get requests(): readonly ProxiedRequest[] {
    return this.#log.requests;
  }

  partition(on: boolean): void {
    this.#partitioned = on;
  }

  clear(): void {
    this.#log.clear();
  }

  async waitFor(matches: (request: ProxiedRequest) => boolean): Promise<ProxiedRequest> {
    return await this.#log.waitFor(matches);
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #close(): Promise<void> {
    const reason = new Error("The fault proxy has been stopped.");
    this.#stopping.abort(reason);
    this.#log.close(reason);
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const receivedMs = performance.now();
    const request = await receive(incoming);
    // The client has gone away in the middle of its request, so a service would have nothing to apply.
    if (request === undefined) return;
    const received = { ...described(request), headers: incoming.headers, receivedMs };
    const record = this.#log.add(received, this.#nameOf(received));
    if (this.#partitioned) return;
    record.fault = this.rule?.(record);
    await this.#pass({ request, response, record, isStream: this.#isStream(received) }, record.fault);
  }

  async #pass(passage: Passage, fault: Fault | undefined): Promise<void> {
    switch (fault?.kind) {
      case undefined:
        await this.#forward(passage);
        return;
      case "delay": {
        await this.#wait(fault.requestMs);
        const reply = await this.#deliver(passage);
        await this.#wait(fault.replyMs);
        this.#answer(passage, reply);
        return;
      }
      case "black-hole":
        // A stream is not delivered, because nothing would ever end it.
        if (fault.side === "reply" && !passage.isStream) await this.#deliver(passage);
        return;
      case "cut":
        if (fault.side === "before") this.#cut(passage);
        else await this.#cutAfterDelivery(passage, fault.side);
        return;
      case "answer":
        this.#answer(passage, madeUp(fault));
        return;
      case "duplicate":
        if (!passage.isStream) await this.#deliver(passage);
        await this.#forward(passage);
        return;
      case "hold":
        if (await isKept(fault.until)) await this.#forward(passage);
        else this.#cut(passage);
    }
  }

  async #forward(passage: Passage): Promise<void> {
    if (passage.isStream) await this.#stream(passage);
    else this.#answer(passage, await this.#deliver(passage));
  }

  async #stream(passage: Passage): Promise<void> {
    const { request, response, record } = passage;
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const signal = AbortSignal.any([gone.signal, this.#stopping.signal]);
    const reply = await this.#delivered(record, async () => relayOpen(this.#target, request, signal));
    if (reply === undefined) return this.#cut(passage);
    response.writeHead(reply.status, reply.statusText, [...reply.rawHeaders]);
    response.flushHeaders();
    try {
      for await (const piece of reply.pieces) {
        if (!this.#partitioned && (this.passes?.(piece) ?? true)) response.write(piece);
      }
      response.end();
    } catch {
      response.destroy();
    }
  }

  async #deliver({ request, record }: Passage): Promise<WholeReply | undefined> {
    return await this.#delivered(record, async () => relay(this.#target, request, this.#stopping.signal));
  }

  async #delivered<Reply extends Pick<WholeReply, "status">>(
    record: OpenRecord,
    send: () => Promise<Reply | undefined>,
  ): Promise<Reply | undefined> {
    if (this.#stopping.signal.aborted) return undefined;
    const delivery: OpenDelivery = { sentMs: performance.now(), repliedMs: undefined, status: undefined };
    record.deliveries.push(delivery);
    this.#log.changed();
    const reply = await send();
    if (reply === undefined) return undefined;
    delivery.repliedMs = performance.now();
    delivery.status = reply.status;
    this.#log.changed();
    return reply;
  }

  #answer(passage: Passage, reply: WholeReply | undefined): void {
    const { response, record } = passage;
    if (reply === undefined) {
      this.#cut(passage);
      return;
    }
    if (this.#partitioned || response.destroyed) return;
    // The reply has the service's own date, or none.
    response.sendDate = false;
    response.writeHead(reply.status, reply.statusText, [...reply.rawHeaders]);
    response.end(reply.body);
    record.answeredMs = performance.now();
    this.#log.changed();
  }

  async #cutAfterDelivery(passage: Passage, side: "after" | "mid-reply"): Promise<void> {
    const reply = await this.#deliver(passage);
    const { socket } = passage.response;
    if (side === "after" || reply === undefined || socket === null) {
      this.#cut(passage);
    } else if (!this.#partitioned) {
      // Writes past the response object, which would not send half of the head.
      socket.write(firstHalf(reply), () => socket.destroy());
    }
  }

  #cut({ response }: Passage): void {
    if (!this.#partitioned) response.destroy();
  }

  /** Waits, at most until the proxy stops; after that nothing is delivered or answered. */
  async #wait(ms: number | undefined): Promise<void> {
    if (ms !== undefined) await isKept(delay(ms, undefined, { signal: this.#stopping.signal }));
  }
}

/** Returns the method, path, query and body of a request. */
function described(request: WholeRequest): Pick<ReceivedRequest, "method" | "path" | "query" | "body"> {
  const url = new URL(`http://proxy${request.target}`);
  return { method: request.method, path: url.pathname, query: url.searchParams, body: request.body };
}

function madeUp(answer: Extract<Fault, { kind: "answer" }>): WholeReply {
  const body = Buffer.from(answer.body ?? "");
  const headers = { "Content-Length": String(body.length), ...answer.headers };
  return {
    status: answer.status,
    statusText: STATUS_CODES[answer.status] ?? "",
    rawHeaders: Object.entries(headers).flat(),
    body,
  };
}

/** Reports whether the promise resolves. */
function isKept(promise: Promise<void>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  );
}
