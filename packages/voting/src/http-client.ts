import { Agent, request as requestHttp, type IncomingMessage } from "node:http";
import { Agent as TlsAgent, request as requestTls } from "node:https";
import { redact } from "@leasehold/core/provider";
import type { Authority } from "./certificates.ts";
import { bodyOf, PATH, SIGNATURE, STATUS, headersOf, type Posted, type Signed } from "./http-listener.ts";

/** The reason why a packet got no valid answer, in words for a person. */
export class NoAnswer extends Error {
  /** True if a person has to correct something, so that waiting does not help. */
  readonly isMistake: boolean;

  constructor(message: string, isMistake: boolean) {
    super(message);
    this.name = "NoAnswer";
    this.isMistake = isMistake;
  }
}

/** Posts packets to other servers, over connections that are kept open. */
export class HttpClient {
  readonly #agents = new Map<string, Agent>();
  /** The number of answers from each host, by its origin. */
  readonly #answers = new Map<string, number>();
  #ca: Authority;
  #isClosed = false;

  /** Trusts this authority for the connections that are made from now on. At first, those that Node trusts. */
  trust(ca: Authority): void {
    this.#ca = ca;
  }

  /** @throws {NoAnswer} if no answer comes that a voting server would give. */
  async post(name: string, url: URL, packet: Signed, signal: AbortSignal): Promise<Posted> {
    try {
      return await this.#post(name, url, packet, signal);
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      throw this.#failureOf(error as NodeJS.ErrnoException, name, url);
    }
  }

  /** Ends all requests that are under way. */
  close(): void {
    this.#isClosed = true;
    for (const agent of this.#agents.values()) agent.destroy();
  }

  #answersOf({ origin }: URL): number {
    return this.#answers.get(origin) ?? 0;
  }

  #agentOf({ origin, protocol }: URL): Agent {
    const agent = this.#agents.get(origin) ?? new (protocol === "https:" ? TlsAgent : Agent)({ keepAlive: true });
    this.#agents.set(origin, agent);
    return agent;
  }

  async #post(name: string, url: URL, packet: Signed, signal: AbortSignal): Promise<Posted> {
    const response = await this.#exchange(url, packet, signal);
    const { statusCode = 0, headers } = response;
    const answer = await bodyOf(response);
    this.#answers.set(url.origin, this.#answersOf(url) + 1);
    if (statusCode === STATUS.ok && answer) return { body: answer, signature: headers[SIGNATURE] };
    if (statusCode === STATUS.signature) throw secretsDiffer(name);
    const isOurs = statusCode === STATUS.oversized || (statusCode === STATUS.malformed && answer?.toString() === "malformed");
    const why = isOurs
      ? `${name} does not take this server's messages: do both have the same version of @leasehold/voting?`
      : `what answers for ${name} at ${url.origin} is no voting server (HTTP ${statusCode}).`;
    throw new NoAnswer(why, true);
  }

  /**
   * Sends the request again if it used a kept connection that the other side had closed. A restart of the other host closes all
   * kept connections, and only a request finds out each of them.
   *
   * A request without an answer in time ends the kept connections to that host, unless the host has answered another request
   * meanwhile. A path that has silently died has lost all of them. A host that is only slow keeps them, because new ones cost it more.
   */
  async #exchange(url: URL, packet: Signed, signal: AbortSignal): Promise<IncomingMessage> {
    const agent = this.#agentOf(url);
    const answers = this.#answersOf(url);
    try {
      return await new Promise((resolve, reject) => {
        const begin = url.protocol === "https:" ? requestTls : requestHttp;
        const request = begin(new URL(PATH, url), {
          method: "POST",
          agent,
          signal,
          // A kept connection is used again only for the same authority.
          ...(url.protocol === "https:" ? { ca: this.#ca } : {}),
          headers: headersOf(packet),
        });
        request.on("response", resolve);
        request.on("error", (error) => reject(Object.assign(error, { wasKept: request.reusedSocket })));
        request.end(packet.body);
      });
    } catch (error) {
      if (signal.aborted && this.#answersOf(url) === answers)
        for (const kept of Object.values(agent.freeSockets)) for (const socket of kept ?? []) socket.destroy();
      const { code, wasKept } = error as { readonly code?: string; readonly wasKept?: boolean };
      if (!wasKept || signal.aborted || this.#isClosed || (code !== "ECONNRESET" && code !== "EPIPE")) throw error;
      return await this.#exchange(url, packet, signal);
    }
  }

  #failureOf({ code = "", message }: NodeJS.ErrnoException, name: string, url: URL): NoAnswer {
    const at = `${name} at ${url.origin}`;
    const isTls = url.protocol === "https:";
    if (code === "ECONNREFUSED") {
      return new NoAnswer(`no server listens for ${at}: start it, and check its option host.`, false);
    }
    if (code === "ENOTFOUND" || code === "EAI_AGAIN") return new NoAnswer(`the host of ${at} cannot be found.`, false);
    if (isTls && /WRONG_VERSION|EPROTO|PACKET_LENGTH/.test(code)) {
      return new NoAnswer(`${at} does not speak TLS. Is it a server of http: rather than https:?`, true);
    }
    if (isTls && /CERT|SIGNATURE|UNABLE_TO_GET_ISSUER|UNKNOWN_CA|ALTNAME/.test(code)) {
      return new NoAnswer(`the certificate of ${at} is not trusted (${code}): its authority is the option tls.ca.`, true);
    }
    if (code === "ECONNRESET" && this.#answersOf(url) === 0) {
      const other = isTls ? "http: rather than https:" : "https: rather than http:";
      return new NoAnswer(`${at} hangs up before it answers. Is it a server of ${other}?`, true);
    }
    if (code === "ABORT_ERR") return new NoAnswer(`${at} does not answer in time.`, false);
    return new NoAnswer(`${at} does not answer: ${redact(message)}`, false);
  }
}

export function secretsDiffer(name: string): NoAnswer {
  return new NoAnswer(`${name} signs with another secret than this server: give all of them the same.`, true);
}
