import type { IncomingMessage, ServerResponse } from "node:http";
import { ConfigurationError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { mostConnections } from "../http/bounded-server.ts";
import type { HttpAddress } from "../http/http-address.ts";
import { HEADERS, startServer, type HttpServer } from "../http/http-server.ts";
import { mistake, type HttpReply } from "../http/reply.ts";
import { refusal, type AccessRules } from "./access.ts";
import { EventStreams } from "./event-stream.ts";
import { Figures } from "./figures.ts";
import { pageFiles } from "./page.ts";
import { answerTo, type Served } from "./routes.ts";
import { prepareSocket } from "./socket-file.ts";

export interface HttpOptions {
  readonly address: HttpAddress;
  /** The server disposes of the candidates and the list at its end. */
  readonly served: Omit<Served, "figures" | "page">;
  readonly rules: AccessRules;
  readonly clock: Clock;
}

/** The most readers of events. They are never idle, so half of the connections stays free for probes. */
const MOST_READERS = Math.min(100, Math.floor(mostConnections() / 2));

/**
 * Starts the HTTP server that answers who leads. Its metrics begin here.
 * @throws {ConfigurationError} if it cannot listen.
 */
export async function startHttp({ address, served: given, rules, clock }: HttpOptions): Promise<HttpServer> {
  if (address.kind === "unix") await prepareSocket(address.path);
  const streams = new EventStreams(given.candidates, clock, given);
  const figures = new Figures();
  const served = { ...given, figures, page: pageFiles() };
  const dispose = (): void => {
    for (const each of [streams, figures, ...served.candidates]) each[Symbol.dispose]();
    served.listed?.[Symbol.dispose]();
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<HttpReply | undefined> =>
    await replyTo(request, response, { served, rules, streams });
  try {
    const server = await startServer(address, handle);
    return {
      url: server.url,
      [Symbol.asyncDispose]: async () => {
        dispose();
        await server[Symbol.asyncDispose]();
      },
    };
  } catch (cause) {
    dispose();
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    const where = address.kind === "unix" ? address.path : `${address.host}:${address.port}`;
    throw new ConfigurationError(
      `--http cannot listen on ${where} (${code}). Give an address that is free, and this machine's.`,
      { cause },
    );
  }
}

interface Replying {
  readonly served: Served;
  readonly rules: AccessRules;
  readonly streams: EventStreams;
}

async function replyTo(
  request: IncomingMessage,
  response: ServerResponse,
  { served, rules, streams }: Replying,
): Promise<HttpReply | undefined> {
  // Discard the body of the request: no path uses one.
  request.resume();
  const { method = "GET", headers } = request;
  const [path = "/"] = (request.url ?? "/").split("?", 1);
  // Without a candidate nothing can be changed, with or without a token.
  const asked = served.listed ? "GET" : method;
  const refused = refusal({ method: asked, headers, remoteAddress: request.socket.remoteAddress }, rules);
  if (refused) return mistake(refused.status, refused.error);
  const read = method === "GET" || method === "HEAD" || method === "OPTIONS";
  if (!read && method !== "POST") {
    return { ...mistake(405, "this method does nothing here"), allow: "GET, HEAD, OPTIONS, POST" };
  }
  if (read && path === "/events") return stream(response, method, streams);
  const wantsHtml = /\btext\/html\b/.test(headers.accept ?? "");
  return await answerTo({ method: read ? "GET" : "POST", path, wantsHtml }, served);
}

function stream(response: ServerResponse, method: string, streams: EventStreams): HttpReply | undefined {
  if (streams.size >= MOST_READERS) return mistake(503, `${MOST_READERS} readers follow already`);
  response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
  // The first event of a list waits for the store.
  response.flushHeaders();
  if (method === "GET") streams.add(response);
  else response.end();
  return undefined;
}
