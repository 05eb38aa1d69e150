import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { ConfigurationError } from "@leasehold/core";
import { MAX_PACKET_BYTES } from "./packet.ts";

export const PATH = "/leasehold/voting";
export const SIGNATURE = "x-leasehold-signature";
/** The statuses by which a packet is dropped that nobody has signed, or not as it should be. */
export const STATUS = { ok: 200, malformed: 400, signature: 401, elsewhere: 404, oversized: 413 } as const;

const MOST_CONNECTIONS = 1_024;
/** The most of packets that have not come in whole, all together: nobody knows yet who has sent them. */
const MOST_PENDING_BYTES = 8 * MAX_PACKET_BYTES;
/** A packet that has not come in whole by then is dropped. */
const PACKET_TIMEOUT_MS = 10_000;

export interface Posted {
  readonly body: Buffer;
  readonly signature: unknown;
}

/** An answer: a body with its signature, or the reason for which there is none. */
export type Response = { readonly body: string; readonly signature: string } | Exclude<keyof typeof STATUS, "ok">;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Where the others connect by TLS. */
  readonly tls: { readonly key: string | Buffer; readonly cert: string | Buffer } | undefined;
}

/** Begins to listen; resolves once others can connect. */
export async function listen(
  { host, port, tls }: ListenOptions,
  answer: (posted: Posted | "oversized" | "elsewhere") => Promise<Response>,
): Promise<Server> {
  const pending = { bytes: 0 };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    respond(request, pending, answer).then(
      (given) => send(response, given),
      // The other side has hung up.
      () => response.destroy(),
    );
  };
  const limits = { requestTimeout: PACKET_TIMEOUT_MS, headersTimeout: PACKET_TIMEOUT_MS, keepAliveTimeout: 60_000 };
  const server = tls ? createTlsServer({ ...limits, ...tls }, onRequest) : createServer(limits, onRequest);
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(notListening(error, host, port)));
    server.listen(port, host, resolve);
  });
  return server;
}

async function respond(
  request: IncomingMessage,
  pending: Pending,
  answer: (posted: Posted | "oversized" | "elsewhere") => Promise<Response>,
): Promise<Response> {
  if (request.method !== "POST" || request.url !== PATH) return await answer("elsewhere");
  const body = await bodyOf(request, pending);
  return await answer(body ? { body, signature: request.headers[SIGNATURE] } : "oversized");
}

function send(response: ServerResponse, given: Response): void {
  if (typeof given === "string") {
    // What is left of the body is not read.
    response.writeHead(STATUS[given], { Connection: "close" }).end(given);
    return;
  }
  const { body, signature } = given;
  response.writeHead(STATUS.ok, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    [SIGNATURE]: signature,
  });
  response.end(body);
}

/** What is being read at present, of all connections together. */
interface Pending {
  bytes: number;
}

/** Reads all of a message; undefined where that is too long, or too much comes at once. */
export async function bodyOf(message: IncomingMessage, pending: Pending = { bytes: 0 }): Promise<Buffer | undefined> {
  if (Number(message.headers["content-length"] ?? 0) > MAX_PACKET_BYTES) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      pending.bytes += chunk.length;
      if (bytes > MAX_PACKET_BYTES || pending.bytes > MOST_PENDING_BYTES) return undefined;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    pending.bytes -= bytes;
  }
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
