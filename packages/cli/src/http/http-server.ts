import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { boundedServer } from "./bounded-server.ts";
import type { HttpAddress } from "./http-address.ts";
import { mistake, type HttpReply } from "./reply.ts";

/** A server that runs until it is disposed of. */
export interface HttpServer extends AsyncDisposable {
  /** The address of the server, for people. */
  readonly url: string;
}

/** Returns the reply to a request. Undefined if it has begun the response itself. A thrown error is answered with 500. */
export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => Promise<HttpReply | undefined>;

/** By these headers, a page sends requests only to this server and shows in no frame. It runs only scripts of its own files. */
export const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Starts a server that answers with the replies of `handle`.
 * @throws the system's error if it cannot listen.
 */
export async function startServer(address: HttpAddress, handle: HttpHandler): Promise<HttpServer> {
  // HAProxy's checks have no Host header.
  const server = boundedServer({ requireHostHeader: false }, (request, response) => void respond(request, response, handle));
  server.listen(address.kind === "unix" ? { path: address.path } : { host: address.host, port: address.port });
  await once(server, "listening");
  // The close also removes the file of a Unix socket.
  return { url: urlOf(server, address), [Symbol.asyncDispose]: async () => closeServer(server) };
}

async function respond(request: IncomingMessage, response: ServerResponse, handle: HttpHandler): Promise<void> {
  const reply = await handle(request, response).catch((error: unknown) =>
    mistake(500, error instanceof Error ? error.message : String(error)),
  );
  if (!reply) return;
  const { status, type, body, allow } = reply;
  const isOptions = request.method === "OPTIONS";
  const methods = allow ?? (isOptions ? "GET, HEAD, OPTIONS" : undefined);
  response.writeHead(status, {
    ...HEADERS,
    "content-type": type,
    ...(methods === undefined ? {} : { allow: methods }),
    // This header tells a client that it may try again with the token.
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
  });
  response.end(isOptions ? "" : body);
}

function urlOf(server: Server, address: HttpAddress): string {
  if (address.kind === "unix") return `unix:${address.path}`;
  const { port } = server.address() as AddressInfo;
  return `http://${address.host.includes(":") ? `[${address.host}]` : address.host}:${port}`;
}

/** Stops listening, and closes the open connections. Resolves once the server is closed. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
