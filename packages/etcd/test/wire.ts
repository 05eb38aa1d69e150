import {
  EtcdFailure,
  EtcdLeaseStore,
  type CallOptions,
  type EtcdLeaseStoreOptions,
  type EtcdPath,
  type EtcdReply,
  type EtcdTransport,
  type Json,
} from "@leasehold/etcd";

/** Sends a request on, and returns its reply. A test may act before it, after it, or instead of it. */
export type Send = () => Promise<EtcdReply>;

/** A transport to etcd that a test can interfere with. */
export class Wire implements EtcdTransport {
  readonly #way: EtcdTransport;
  /** The paths of the requests so far. */
  readonly paths: EtcdPath[] = [];
  /** The hook between the store and etcd; by default it only sends on. */
  onCall: (path: EtcdPath, body: Json, send: Send, options: CallOptions) => Promise<EtcdReply> = async (_path, _body, send) =>
    await send();
  /** Filters the messages of a watch; by default it passes all of them. */
  onWatch: (messages: AsyncIterable<Json>) => AsyncIterable<Json> = (messages) => messages;

  constructor(way: EtcdTransport) {
    this.#way = way;
  }

  async call(path: EtcdPath, body: Json, options: CallOptions): Promise<EtcdReply> {
    this.paths.push(path);
    return await this.onCall(path, body, async () => await this.#way.call(path, body, options), options);
  }

  async *watch(requests: readonly Json[], options: CallOptions): AsyncGenerator<Json> {
    yield* this.onWatch(this.#way.watch(requests, options));
  }
}

/** The transport to a real etcd. */
class Fetching implements EtcdTransport {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async call(path: EtcdPath, body: Json, { signal }: CallOptions): Promise<EtcdReply> {
    const response = await this.#post(path, body, signal);
    const text = await response.text();
    const answer = JSON.parse(text) as Json;
    if (response.ok) return { body: answer, endpoint: this.#url };
    throw new EtcdFailure(String(answer["message"]), { status: response.status, grpcCode: Number(answer["code"]) });
  }

  async *watch(requests: readonly Json[], { signal }: CallOptions): AsyncGenerator<Json> {
    const response = await this.#post("/v3/watch", requests, signal);
    let rest = "";
    for await (const chunk of (response.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield (JSON.parse(line) as { result: Json }).result;
    }
  }

  async #post(path: string, body: Json | readonly Json[], signal: AbortSignal): Promise<Response> {
    const text = Array.isArray(body) ? body.map((one) => JSON.stringify(one)).join("\n") : JSON.stringify(body);
    return await fetch(this.#url + path, { method: "POST", body: text, signal });
  }
}

/** Returns the store of one more process, and its transport to etcd. */
export function wiredStore(
  url: string,
  options: EtcdLeaseStoreOptions = {},
): { readonly store: EtcdLeaseStore; readonly wire: Wire } {
  const wire = new Wire(new Fetching(url));
  return { store: new EtcdLeaseStore({ transport: wire, ...options }), wire };
}

/** Sends a request whose reply is lost on its way back. */
export const loseReply = async (send: Send): Promise<never> => {
  await send();
  throw new EtcdFailure("socket hang up", { status: 0, socketCode: "ECONNRESET" });
};
