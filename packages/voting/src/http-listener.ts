import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { ConfigurationError } from "@leasehold/core";
import { MAX_PACKET_BYTES } from "./packet.ts";

export const PATH = "/leasehold/voting";
export const SIGNATURE = "x-leasehold-signature";
/** The HTTP statuses: `ok` for a signed answer, the others for a packet that is dropped without one. */
export const STATUS = { ok: 200, malformed: 400, signature: 401, elsewhere: 404, oversized: 413 } as const;

const MOST_CONNECTIONS = 1_024;
/** The most connections on which no packet of another server has come. If there are more, the oldest one is closed. */
const MOST_STRANGERS = 256;
/** A packet that has not arrived completely within this time is dropped. So is a connection without a packet. */
const PACKET_TIMEOUT_MS = 10_000;
const CHECK_EVERY_MS = 1_000;

export interface Posted {
  readonly body: Buffer;
  readonly signature: unknown;
}

export interface Signed {
  readonly body: string;
  readonly signature: string;
}

/** An answer, or the reason why there is none. */
export type Response = Signed | Exclude<keyof typeof STATUS, "ok">;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** The key and certificate of a server that the others reach by TLS. */
  readonly tls: { readonly key: string | Buffer; readonly cert: string | Buffer } | undefined;
}

export interface Handlers {
  /** Reports whether somebody with the secret has signed a body of that length. An unsigned body is not read. */
  readonly isPromised: (signature: unknown, length: number) => boolean;
  /**
   * Calls `keep` if another server has just sent the packet. A valid signature is no proof: a captured packet can be sent
   * again.
   */
  readonly answer: (posted: Received, keep: () => void) => Promise<Response>;
}

/** A packet, or the reason why its body was not read. */
export type Received = Posted | "oversized" | "elsewhere" | "signature";

/** Begins to listen; resolves once others can connect. */
export async function listen({ host, port, tls }: ListenOptions, handlers: Handlers): Promise<Server> {
  const strangers = new OtherConnections();
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const keep = (): void => strangers.keep(request.socket);
    respond(request, handlers.isPromised, (posted) => handlers.answer(posted, keep)).then(
      (given) => send(response, given),
      // The other side has closed the connection.
      () => response.destroy(),
    );
  };
  const limits = {
    requestTimeout: PACKET_TIMEOUT_MS,
    headersTimeout: PACKET_TIMEOUT_MS,
    keepAliveTimeout: 60_000,
    connectionsCheckingInterval: CHECK_EVERY_MS,
  };
  const server = tls
    ? createTlsServer({ ...limits, handshakeTimeout: PACKET_TIMEOUT_MS, ...tls }, onRequest)
    : createServer(limits, onRequest);
  server.on("connection", (socket: Socket) => strangers.add(socket));
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(notListening(error, host, port)));
    server.listen(port, host, resolve);
  });
  return server;
}

/** The connections on which no packet of another server has come. By TLS, a request has another socket with the same address. */
class OtherConnections {
  readonly #sockets = new Map<string, Socket>();

  add(socket: Socket): void {
    const key = keyOf(socket);
    this.#sockets.set(key, socket);
    socket.once("close", () => void (this.#sockets.get(key) === socket && this.#sockets.delete(key)));
    const [oldest] = this.#sockets.values();
    if (this.#sockets.size > MOST_STRANGERS) oldest?.destroy();
  }

  /** Keeps a connection: another server has sent a packet on it. */
  keep(socket: Socket): void {
    this.#sockets.delete(keyOf(socket));
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

async function respond(
  request: IncomingMessage,
  isPromised: Handlers["isPromised"],
  answer: (posted: Received) => Promise<Response>,
): Promise<Response> {
  if (request.method !== "POST" || request.url !== PATH) return await answer("elsewhere");
  const signature = request.headers[SIGNATURE];
  const length = Number(request.headers["content-length"] ?? NaN);
  if (length > MAX_PACKET_BYTES) return await answer("oversized");
  if (!isPromised(signature, length)) return await answer("signature");
  const body = await bodyOf(request);
  return await answer(body ? { body, signature } : "oversized");
}

function send(response: ServerResponse, given: Response): void {
  if (typeof given === "string") {
    // The rest of the body is not read.
    response.writeHead(STATUS[given], { Connection: "close" }).end(given);
    return;
  }
  response.writeHead(STATUS.ok, headersOf(given)).end(given.body);
}

export function headersOf({ body, signature }: Signed): Readonly<Record<string, string | number>> {
  return { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body), [SIGNATURE]: signature };
}

/** Reads the whole body of a message; undefined if it is too long. */
export async function bodyOf(message: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(message.headers["content-length"] ?? 0) > MAX_PACKET_BYTES) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_PACKET_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function notListening(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const where = `${host}:${port}`;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `another process listens on ${where}: is this server started twice?`,
    EADDRNOTAVAIL: `${host} is no address of this machine; host is the one to listen on, or 0.0.0.0 for all of them.`,
    EACCES: `this process may not listen on ${where}; take a port above 1023.`,
    ENOTFOUND: `the host ${host} cannot be found.`,
  };
  const reason = reasons[error.code ?? ""] ?? error.message;
  return new ConfigurationError(`This server cannot listen: ${reason}`, { cause: error });
}
