import type { Clock } from "@leasehold/core/provider";
import { secretsDiffer, type HttpClient } from "./http-client.ts";
import type { Request } from "./messages.ts";
import { replyOf, type Header, type Packet, type Reply, type Seal } from "./packet.ts";

export interface PacketClientOptions {
  readonly clock: Clock;
  readonly seal: Seal;
  readonly http: HttpClient;
  /** The names of all servers, as each packet has them. An observer knows none. */
  readonly servers: readonly string[];
}

/** Sends signed packets, and checks that an answer is signed and belongs to its packet. */
export class PacketClient {
  readonly #options: PacketClientOptions;
  #id = 0;

  constructor(options: PacketClientOptions) {
    this.#options = options;
  }

  /**
   * Sends one packet to a server. Errors call it `name`.
   *
   * @throws {NoAnswer} if no answer comes that a voting server would give.
   */
  async post(name: string, url: URL, header: Header, contents: readonly Request[], signal: AbortSignal): Promise<Reply> {
    const { seal, http, servers } = this.#options;
    this.#id += 1;
    const id = this.#id;
    const body = JSON.stringify({ ...header, id, servers, contents } satisfies Packet<Request>);
    const answer = await http.post(name, url, { body, signature: seal.sign(body) }, signal);
    if (!seal.isOurs(answer.body, answer.signature)) throw secretsDiffer(name);
    const reply = replyOf(answer.body);
    if (reply?.id === id && reply.to === header.from && reply.toStart === header.start) return reply;
    throw new Error(`The answer from ${name} at ${url.origin} is none to what was asked.`);
  }

  /** Calls `act` with a signal that aborts after `timeoutMs`. */
  async within<T>(timeoutMs: number, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeout = new AbortController();
    const timer = this.#options.clock.setTimer(() => timeout.abort(), timeoutMs);
    try {
      return await act(timeout.signal);
    } finally {
      timer.cancel();
    }
  }
}

/** The fields of a packet that carries no server's state. */
export function bareHeader(fields: Pick<Header, "cluster" | "from" | "to" | "start" | "toStart">): Header {
  return { ...fields, writes: 0, seen: 0 };
}
