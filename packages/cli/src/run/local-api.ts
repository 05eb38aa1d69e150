import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import { systemClock } from "@leasehold/core/provider";
import { hasBearerToken } from "../http/bearer-token.ts";
import { boundedServer } from "../http/bounded-server.ts";
import { closeServer } from "../http/close-server.ts";

const MAX_VALUE_BYTES = 65_536;

/** An HTTP API on the loopback address, for CMD and its own term. It needs a token that only CMD gets. */
export interface LocalApi extends AsyncDisposable {
  readonly url: string;
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
  const server = boundedServer({}, (request, response) => {
    void answer(request, token, { leadership, resign }).then(({ status, body }) => send(response, status, body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, token, [Symbol.asyncDispose]: async () => closeServer(server) };
}

interface ApiReply {
  readonly status: number;
  readonly body?: Readonly<Record<string, unknown>>;
}

interface Term {
  readonly leadership: Leadership;
  readonly resign: () => void;
}

async function answer(request: IncomingMessage, token: string, { leadership, resign }: Term): Promise<ApiReply> {
  const { authorization, origin } = request.headers;
  // Refuse the requests of web pages in a browser on this machine, even with the right token.
  if (origin !== undefined) return { status: 403, body: { error: "requests of web pages are refused" } };
  if (!hasBearerToken(authorization, token)) {
    return { status: 401, body: { error: "the header 'Authorization: Bearer $LEASEHOLD_TOKEN' is missing or wrong" } };
  }
  switch (`${request.method} ${request.url}`) {
    case "GET /leadership": {
      const { election, term, candidateId, signal } = leadership;
      const remainingMs = leadership.remainingMs();
      const body = { election, term, candidateId, valid: remainingMs > 0, ending: signal.aborted, remainingMs };
      return { status: 200, body };
    }
    case "POST /checkpoint":
      leadership.checkpoint();
      return { status: 204 };
    case "POST /resign":
      resign();
      return { status: 202 };
    case "PUT /value":
      return await publish(request, leadership);
    default:
      return {
        status: 404,
        body: { error: "there are GET /leadership, POST /checkpoint, POST /resign and PUT /value" },
      };
  }
}

async function publish(request: IncomingMessage, leadership: Leadership): Promise<ApiReply> {
  try {
    const value = await bodyOf(request);
    if (value === undefined) return { status: 413, body: { error: `the value is longer than ${MAX_VALUE_BYTES} bytes` } };
    await leadership.publish(value);
    return { status: 204 };
  } catch (error) {
    const status = isLeaseholdError(error, "CONFIGURATION") ? 400 : 409;
    return { status, body: { error: error instanceof Error ? error.message : String(error) } };
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

function send(response: ServerResponse, status: number, body: ApiReply["body"]): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(body === undefined ? undefined : `${JSON.stringify(body)}\n`);
}
