import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigurationError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { boundedServer, mostConnections } from "../http/bounded-server.ts";
import { closeServer } from "../http/close-server.ts";
import { refusal, type AccessRules } from "./access.ts";
import { mistake, type HttpReply } from "./answer.ts";
import { EventStreams } from "./event-stream.ts";
import type { HttpAddress } from "./http-address.ts";
import { answerTo, type Served } from "./routes.ts";
import { prepareSocket } from "./socket-file.ts";

export interface HttpOptions {
  readonly address: HttpAddress;
  readonly served: Served;
  readonly rules: AccessRules;
  readonly clock: Clock;
}

/** A server that runs until it is disposed of. */
export interface HttpServer extends AsyncDisposable {
  /** The address of the server, for people. */
  readonly url: string;
}

/** The most readers of events. They are never idle, so half of the connections stays free for probes. */
const MOST_READERS = Math.min(100, Math.floor(mostConnections() / 2));

/** By these headers, the page sends requests only to this server and shows in no frame. It runs only scripts of its own files. */
const HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Starts the HTTP server that answers who leads.
 * @throws {ConfigurationError} if it cannot listen.
 */
export async function startHttp({ address, served, rules, clock }: HttpOptions): Promise<HttpServer> {
  const streams = new EventStreams(served.candidates, clock);
  // HAProxy's checks have no Host header.
  const server = boundedServer({ requireHostHeader: false }, (request, response) => {
    // Discard the body of the request: no path uses one.
    request.resume();
    void respond(request, response, { served, rules, streams });
  });
  await listen(server, address);
  return {
    url: urlOf(server, address),
    [Symbol.asyncDispose]: async () => {
      streams[Symbol.dispose]();
      // The close also removes the file of a Unix socket.
      await closeServer(server);
    },
  };
}

interface Responding {
  readonly served: Served;
  readonly rules: AccessRules;
  readonly streams: EventStreams;
}

async function respond(request: IncomingMessage, response: ServerResponse, responding: Responding): Promise<void> {
  const { method = "GET", headers } = request;
  const { served, rules, streams } = responding;
  const [path = "/"] = (request.url ?? "/").split("?", 1);
  const refused = refusal({ method, headers, remoteAddress: request.socket.remoteAddress }, rules);
  if (refused) return send(response, method, mistake(refused.status, refused.error));
  const read = method === "GET" || method === "HEAD" || method === "OPTIONS";
  if (!read && method !== "POST") {
    return send(response, method, { ...mistake(405, "this method does nothing here"), allow: "GET, HEAD, OPTIONS, POST" });
  }
  if (read && path === "/events") return stream(response, method, streams);
  const wantsHtml = /\btext\/html\b/.test(headers.accept ?? "");
  try {
    send(response, method, await answerTo({ method: read ? "GET" : "POST", path, wantsHtml }, served));
  } catch (error) {
    send(response, method, mistake(500, error instanceof Error ? error.message : String(error)));
  }
}

function stream(response: ServerResponse, method: string, streams: EventStreams): void {
  if (streams.size >= MOST_READERS) return send(response, method, mistake(503, `${MOST_READERS} readers follow already`));
  response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
  if (method === "GET") streams.add(response);
  else response.end();
}

function send(response: ServerResponse, method: string, { status, type, body, allow }: HttpReply): void {
  const methods = allow ?? (method === "OPTIONS" ? "GET, HEAD, OPTIONS" : undefined);
  response.writeHead(status, {
    ...HEADERS,
    "content-type": type,
    ...(methods === undefined ? {} : { allow: methods }),
    // This header tells a client that it may try again with the token.
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
  });
  response.end(method === "OPTIONS" ? "" : body);
}

async function listen(server: Server, address: HttpAddress): Promise<void> {
  if (address.kind === "unix") await prepareSocket(address.path);
  try {
    server.listen(address.kind === "unix" ? { path: address.path } : { host: address.host, port: address.port });
    await once(server, "listening");
  } catch (cause) {
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    const where = address.kind === "unix" ? address.path : `${address.host}:${address.port}`;
    throw new ConfigurationError(
      `--http cannot listen on ${where} (${code}). Give an address that is free, and this machine's.`,
      {
        cause,
      },
    );
  }
}

function urlOf(server: Server, address: HttpAddress): string {
  if (address.kind === "unix") return `unix:${address.path}`;
  const { port } = server.address() as AddressInfo;
  return `http://${address.host.includes(":") ? `[${address.host}]` : address.host}:${port}`;
}
