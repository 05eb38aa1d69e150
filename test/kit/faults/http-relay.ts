import { request as httpRequest } from "node:http";
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";

/** A request that was received whole, and does not need its client any more. */
export interface WholeRequest {
  readonly method: string;
  /** The unchanged path and query, because signatures cover their exact bytes. */
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A reply that was received whole. */
export interface WholeReply {
  readonly status: number;
  readonly statusText: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** Reads a request to its end; `undefined` if the client goes away before that. */
export async function receive(incoming: IncomingMessage): Promise<WholeRequest | undefined> {
  const body = await wholeBody(incoming);
  if (body === undefined) return undefined;
  return { method: incoming.method!, target: incoming.url!, rawHeaders: incoming.rawHeaders, body };
}

/**
 * Sends `request` to `origin` and reads the reply to its end. Returns `undefined` if the service cannot be reached, hangs up, or
 * `signal` aborts first. Every header passes unchanged, `Host` too, except those that concern one connection. The connection is a
 * new one each time, because an idle one may have been closed.
 */
export async function relay(origin: URL, request: WholeRequest, signal: AbortSignal): Promise<WholeReply | undefined> {
  const incoming = await send(origin, request, signal);
  const body = incoming && (await wholeBody(incoming));
  return incoming && body && { ...headOf(incoming), body };
}

/** A reply that is passed on before its end. */
export interface OpenReply extends Omit<WholeReply, "body"> {
  /** Its body as it comes. Ends when the service ends it; breaks when the service hangs up, or the signal aborts. */
  readonly pieces: AsyncIterable<Buffer>;
}

/** Like {@link relay}, for a reply that continues for as long as the client wants it, such as a watch. */
export async function relayOpen(origin: URL, request: WholeRequest, signal: AbortSignal): Promise<OpenReply | undefined> {
  const incoming = await send(origin, request, signal);
  return incoming && { ...headOf(incoming), pieces: incoming };
}

async function send(origin: URL, request: WholeRequest, signal: AbortSignal): Promise<IncomingMessage | undefined> {
  const { promise, resolve } = Promise.withResolvers<IncomingMessage | undefined>();
  const { hostname, port } = origin;
  const { method, target: path } = request;
  const headers = headersByName(request.rawHeaders);
  httpRequest({ hostname, port, method, path, headers, agent: false, setHost: false, signal }, resolve)
    .on("error", () => resolve(undefined))
    .end(request.body);
  return await promise;
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage): Omit<WholeReply, "body"> {
  return { status: statusCode!, statusText: statusMessage!, rawHeaders: endToEnd(rawHeaders).flat() };
}

/**
 * Returns the part of a reply that a client gets if its connection breaks in the middle. It is half of the body, or half of the
 * head if there is no body.
 */
export function firstHalf(reply: WholeReply): Buffer {
  const lines = [`HTTP/1.1 ${reply.status} ${reply.statusText}`];
  for (const [name, value] of endToEnd(reply.rawHeaders)) {
    if (!/^transfer-encoding$/i.test(name)) lines.push(`${name}: ${value}`);
    else lines.push(`Content-Length: ${reply.body.length}`);
  }
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  if (reply.body.length === 0) return head.subarray(0, head.length / 2);
  return Buffer.concat([head, reply.body.subarray(0, reply.body.length / 2)]);
}

/** Returns the name and value of every header that does not concern one connection only. */
function endToEnd(rawHeaders: readonly string[]): Array<[name: string, value: string]> {
  const kept: Array<[string, string]> = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (!/^(connection|keep-alive|proxy-connection)$/i.test(name)) kept.push([name, rawHeaders[index + 1]!]);
  }
  return kept;
}

function headersByName(rawHeaders: readonly string[]): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of endToEnd(rawHeaders)) {
    const earlier = headers[name];
    headers[name] = earlier === undefined ? value : [earlier, value].flat();
  }
  return headers;
}

async function wholeBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  try {
    return await buffer(incoming);
  } catch {
    return undefined;
  }
}
