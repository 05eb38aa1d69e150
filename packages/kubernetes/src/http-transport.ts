import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { redact, retryAfterMs } from "@leasehold/core/provider";
import type { ClusterAccess, Tls } from "./access.ts";
import { ApiFailure, failureOf, type ApiRequest, type ApiTransport, type Json } from "./transport.ts";

const UNAUTHORIZED = 401;

/** Sends requests to an API server, over `node:https`. `fetch` accepts no certificate authority, and ends a quiet watch. */
export class HttpTransport implements ApiTransport {
  readonly #access: ClusterAccess;
  /** The connections with the present TLS settings, which change when certificates are replaced. */
  #connections: { readonly agent: HttpAgent; readonly settings: string } | undefined;

  constructor(access: ClusterAccess) {
    this.#access = access;
  }

  async call(request: ApiRequest, signal: AbortSignal): Promise<Json> {
    try {
      const response = await this.#send(request, signal);
      const text = await textOf(response);
      return answerOf(response, text);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw failed(error);
    }
  }

  async watch(path: string, signal: AbortSignal): Promise<AsyncIterable<Json>> {
    try {
      const response = await this.#send({ method: "GET", path }, signal);
      if (response.statusCode !== 200) answerOf(response, await textOf(response));
      return eventsOf(response, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw failed(error);
    }
  }

  async #send({ method, path, body }: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { authorization, tls } = await this.#access.credentials();
    const content = body === undefined ? undefined : JSON.stringify(body);
    const { server } = this.#access;
    const url = new URL(server.href.replace(/\/$/, "") + path);
    const send = server.protocol === "https:" ? requestHttps : requestHttp;
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = send(url, {
        method,
        agent: this.#agent(tls),
        signal,
        headers: {
          Accept: "application/json",
          "User-Agent": "leasehold",
          ...(authorization === undefined ? {} : { Authorization: authorization }),
          ...(content === undefined ? {} : headersOf(method, content)),
        },
      });
      request.on("response", resolve);
      request.on("error", reject);
      request.end(content);
    });
    if (response.statusCode === UNAUTHORIZED) this.#access.refused();
    return response;
  }

  #agent(tls: Tls): HttpAgent {
    const settings = JSON.stringify(Object.values(tls).map(String));
    if (this.#connections?.settings !== settings) {
      const agent =
        this.#access.server.protocol === "https:" ? new HttpsAgent({ ...tls, keepAlive: true }) : new HttpAgent(ALIVE);
      // Requests that are under way continue on the old agent's connections.
      this.#connections = { agent, settings };
    }
    return this.#connections.agent;
  }
}

const ALIVE = { keepAlive: true };

function headersOf(method: string, content: string): Record<string, string | number> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  return { "Content-Type": type, "Content-Length": Buffer.byteLength(content) };
}

/** Returns the object of a success. @throws {ApiFailure} for anything else. */
function answerOf({ statusCode = 0, headers }: IncomingMessage, text: string): Json {
  const body = jsonOf(text);
  const isSuccess = statusCode >= 200 && statusCode < 300;
  // Proxies and captive portals answer any request with success.
  if (!isSuccess || body?.["kind"] === undefined) throw failureOf(statusCode, body, retryAfterMs(headers["retry-after"]));
  return body;
}

function failed(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new ApiFailure(redact(message), { status: 0, socketCode: code });
}

async function* eventsOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Json, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of response) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
      rest = lines.pop() as string;
      for (const line of lines) {
        const event = jsonOf(line);
        if (event) yield event;
      }
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw failed(error);
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response) text += decoder.decode(chunk as Uint8Array, { stream: true });
  return text + decoder.decode();
}

function jsonOf(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}
