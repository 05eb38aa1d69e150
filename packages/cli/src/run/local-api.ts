import type { IncomingMessage } from "node:http";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import { systemClock } from "@leasehold/core/provider";
import { hasBearerToken } from "../http/bearer-token.ts";
import { startServer, type HttpServer } from "../http/http-server.ts";
import { json, mistake, NO_CONTENT, type HttpReply } from "../http/reply.ts";

const MAX_VALUE_BYTES = 65_536;

/** An HTTP API on the loopback address, for CMD and its own term. It needs a token that only CMD gets. */
export interface LocalApi extends HttpServer {
  readonly token: string;
}

/**
 * Starts the API, which runs until it is disposed of:
 * - `GET /leadership` answers `{ election, term, candidateId, valid, ending, remainingMs }`. A client counts `remainingMs` from
 *   before its request.
 * - `POST /checkpoint` and `POST /resign` have no body.
 * - `PUT /value` has the new value as its body.
 */
export async function serveLeadership(leadership: Leadership, resign: () => void): Promise<LocalApi> {
  const token = systemClock.randomUuid();
  const address = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
  const server = await startServer(address, async (request) => await replyTo(request, token, { leadership, resign }));
  return Object.assign(server, { token });
}

interface Term {
  readonly leadership: Leadership;
  readonly resign: () => void;
}

async function replyTo(request: IncomingMessage, token: string, { leadership, resign }: Term): Promise<HttpReply> {
  const { authorization, origin } = request.headers;
  // Refuse the requests of web pages in a browser on this machine, even with the right token.
  if (origin !== undefined) return mistake(403, "requests of web pages are refused");
  if (!hasBearerToken(authorization, token)) {
    return mistake(401, "the header 'Authorization: Bearer $LEASEHOLD_TOKEN' is missing or wrong");
  }
  switch (`${request.method} ${request.url}`) {
    case "GET /leadership": {
      const { election, term, candidateId, signal } = leadership;
      const remainingMs = leadership.remainingMs();
      return json(200, { election, term, candidateId, valid: remainingMs > 0, ending: signal.aborted, remainingMs });
    }
    case "POST /checkpoint":
      leadership.checkpoint();
      return NO_CONTENT;
    case "POST /resign":
      resign();
      return { ...NO_CONTENT, status: 202 };
    case "PUT /value":
      return await publish(request, leadership);
    default:
      return mistake(404, "there are GET /leadership, POST /checkpoint, POST /resign and PUT /value");
  }
}

async function publish(request: IncomingMessage, leadership: Leadership): Promise<HttpReply> {
  try {
    const value = await bodyOf(request);
    if (value === undefined) return mistake(413, `the value is longer than ${MAX_VALUE_BYTES} bytes`);
    await leadership.publish(value);
    return NO_CONTENT;
  } catch (error) {
    const status = isLeaseholdError(error, "CONFIGURATION") ? 400 : 409;
    return mistake(status, error instanceof Error ? error.message : String(error));
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_VALUE_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
