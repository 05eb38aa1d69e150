import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isLeaseholdError } from "@leasehold/core";
import { redact, wasNeverSent } from "@leasehold/core/provider";
import type { EtcdTls } from "./options.ts";
import {
  EtcdFailure,
  failureInStream,
  type CallOptions,
  type EtcdPath,
  type EtcdReply,
  type EtcdTransport,
  type Json,
  WRONG_SCHEME,
} from "./transport.ts";

const OK = 200;
/** gRPC's UNAVAILABLE: the member has no leader, or is about to stop. */
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;
const NAMED_CLIENT =
  "etcd's gateway with authentication refuses a client's certificate that has a common name: give this client a certificate without one";

/**
 * Sends requests to etcd's JSON gateway, over `node:http` and `node:https`. A request goes to the endpoint that answered last. If
 * no connection can be made, the next endpoint is tried at once, since nothing was sent. After any other failure the next request
 * goes to the next endpoint.
 *
 * `fetch` is not used, because it ends a watch that is quiet for five minutes.
 */
export class HttpTransport implements EtcdTransport {
  readonly #endpoints: readonly URL[];
  readonly #agent: HttpAgent;
  #current = 0;
  #hasAnswered = false;

  /** @param endpoints URLs, all of `http:` or all of `https:`. */
  constructor(endpoints: readonly URL[], tls: EtcdTls | undefined) {
    this.#endpoints = endpoints;
    this.#agent =
      endpoints[0]?.protocol === "https:" ? new HttpsAgent({ ...tls, keepAlive: true }) : new HttpAgent({ keepAlive: true });
  }

  async call(path: EtcdPath, body: Json, options: CallOptions): Promise<EtcdReply> {
    return await this.#send(options, async (endpoint) => {
      const response = await this.#post(endpoint, path, [body], options);
      const text = await textOf(response);
      return { body: parsed(text, statusOf(response)), endpoint: endpoint.origin };
    });
  }

  async *watch(requests: readonly Json[], options: CallOptions): AsyncGenerator<Json, void, undefined> {
    // With this header a member that has lost the cluster ends the watch. Without it the watch would stall.
    const headers = { "Grpc-Metadata-hasleader": "true" };
    const { response, endpoint } = await this.#send(options, async (to) => {
      const answer = await this.#post(to, "/v3/watch", requests, options, headers);
      if (statusOf(answer) !== OK) throw refusalOf(await textOf(answer), statusOf(answer));
      return { response: answer, endpoint: to };
    });
    try {
      for await (const line of linesOf(response)) {
        const message = parsed(line, OK);
        if (message["result"] === undefined) throw failureInStream(message, OK);
        yield message["result"] as Json;
      }
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      this.leave(endpoint.origin);
      throw failureOf(error);
    }
  }

  /** Sends to one endpoint, or to the next if no connection can be made. */
  async #send<T>({ signal, endpoint: only }: CallOptions, send: (endpoint: URL) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const endpoint = this.#endpoint(only);
      try {
        return await send(endpoint);
      } catch (error) {
        const failure = failureOf(error);
        if (isUnwell(failure, signal)) this.leave(endpoint.origin);
        if (isUnanswered(signal)) this.#dropKept();
        if (signal.aborted) throw signal.reason;
        // A server closes the connection like this if only one of the two sides uses TLS.
        const isHungUp = failure.socketCode === "ECONNRESET" && !this.#hasAnswered;
        // Replaces Node's own message, which differs from case to case.
        if (isHungUp) {
          const advice = WRONG_SCHEME[endpoint.protocol as keyof typeof WRONG_SCHEME];
          failure.message = `the connection ended before anything was answered. ${advice}`;
        }
        const mayTryNext = only === undefined && tries < this.#endpoints.length && wasNeverSent(failure.socketCode);
        if (!mayTryNext) throw failure;
      }
    }
  }

  #endpoint(origin: string | undefined): URL {
    const found = origin === undefined ? undefined : this.#endpoints.find((endpoint) => endpoint.origin === origin);
    return found ?? (this.#endpoints[this.#current] as URL);
  }

  /** Changes to the next endpoint, unless another request has done so already. */
  leave(endpoint: string): void {
    if (endpoint === this.#endpoints[this.#current]?.origin) this.#current = (this.#current + 1) % this.#endpoints.length;
  }

  /**
   * Ends the connections that are kept for later requests. A path that has silently died has lost all of them, and otherwise each
   * would cost one more attempt. A few attempts depose a leader.
   */
  #dropKept(): void {
    for (const kept of Object.values(this.#agent.freeSockets)) for (const socket of kept ?? []) socket.destroy();
  }

  async #post(
    endpoint: URL,
    path: string,
    bodies: readonly Json[],
    { signal, token }: CallOptions,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<IncomingMessage> {
    const content = bodies.map((body) => JSON.stringify(body)).join("\n");
    const send = endpoint.protocol === "https:" ? requestHttps : requestHttp;
    return await new Promise((resolve, reject) => {
      const request = send(new URL(path, endpoint), {
        method: "POST",
        agent: this.#agent,
        signal,
        headers: {
          ...headers,
          "Content-Type": "application/json",
          "Content-Length": Buffer.byteLength(content),
          ...(token === undefined ? {} : { Authorization: token }),
        },
      });
      request.on("response", (response) => {
        this.#hasAnswered = true;
        resolve(response);
      });
      request.on("error", reject);
      request.end(content);
    });
  }
}

/** @throws {EtcdFailure} for a refusal, and for a text that is not etcd's answer. */
function parsed(text: string, status: number): Json {
  if (status !== OK) throw refusalOf(text, status);
  const [line = ""] = text.split("\n");
  const body = jsonOf(line);
  if (body) return body;
  throw new EtcdFailure("the answer is no JSON: it does not come from etcd's gateway", { status });
}

/** Returns the failure for an answer with a status other than 200. Only etcd's own answers have a gRPC code and a message. */
function refusalOf(text: string, status: number): EtcdFailure {
  const { code, message, error } = jsonOf(text) ?? {};
  const said = [message, error].find((one): one is string => typeof one === "string");
  if (typeof code === "number" && said !== undefined) return new EtcdFailure(redact(said), { status, grpcCode: code });
  // The only refusal in plain text: embed/serve.go.
  if (text.startsWith("CommonName of client")) return new EtcdFailure(NAMED_CLIENT, { status, grpcCode: UNAUTHENTICATED });
  return new EtcdFailure(`HTTP ${status}: the answer does not come from etcd's gateway`, { status });
}

/**
 * Reports whether another endpoint may succeed: this one did not answer in time, did not answer as etcd does, or has no leader.
 */
function isUnwell({ grpcCode }: EtcdFailure, signal: AbortSignal): boolean {
  return signal.aborted ? isUnanswered(signal) : grpcCode === undefined || grpcCode === UNAVAILABLE;
}

/** Reports whether a request was aborted because its time was up. */
function isUnanswered({ aborted, reason }: AbortSignal): boolean {
  return aborted && isLeaseholdError(reason, "STORE_TIMEOUT");
}

function failureOf(error: unknown): EtcdFailure {
  if (error instanceof EtcdFailure) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new EtcdFailure(redact(message), { status: 0, socketCode: code });
}

/** Node sets `statusCode` for every response to a request. */
function statusOf({ statusCode }: IncomingMessage): number {
  return statusCode as number;
}

function jsonOf(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response) text += decoder.decode(chunk as Uint8Array, { stream: true });
  return text + decoder.decode();
}

/** Yields each line as it comes. Text after the last line feed is dropped. */
async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
    rest = lines.pop() as string;
    yield* lines.filter((line) => line !== "");
  }
}
