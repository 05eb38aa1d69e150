/** A JSON object as etcd's gateway takes and gives it: 64-bit numbers are strings of digits, bytes are base64. */
export type Json = Readonly<Record<string, unknown>>;

/** The methods of etcd's API that a store calls, by their paths at the gateway. */
export type EtcdPath =
  | "/v3/kv/range"
  | "/v3/kv/txn"
  | "/v3/lease/grant"
  | "/v3/lease/keepalive"
  | "/v3/lease/revoke"
  | "/v3/lease/timetolive"
  | "/v3/auth/authenticate";

/** How one request goes out. */
export interface CallOptions {
  /** Aborts when nobody waits for the reply any more. */
  readonly signal: AbortSignal;
  /** The endpoint that it goes to, and no other, as {@link EtcdReply.endpoint} names it. @defaultValue any */
  readonly endpoint?: string | undefined;
  /** What `/v3/auth/authenticate` gave for the user. */
  readonly token?: string | undefined;
}

export interface EtcdReply {
  /** Of a method that streams (`/v3/lease/keepalive`), the first line: `{ result }` or `{ error }`. */
  readonly body: Json;
  /** The endpoint that answered. */
  readonly endpoint: string;
}

/**
 * The way to etcd: its JSON gateway over HTTP, or a simulated service. It sends each request once, and knows no time: whoever
 * calls it gives up by the signal. What fails is an {@link EtcdFailure}, or the signal's reason.
 */
export interface EtcdTransport {
  call(path: EtcdPath, body: Json, options: CallOptions): Promise<EtcdReply>;
  /**
   * Sends the requests of one `/v3/watch`, and yields each `result` as it comes. Ends when the service ends it, or the signal aborts.
   */
  watch(requests: readonly Json[], options: CallOptions): AsyncIterable<Json>;
}

/** The facts about a request that failed. */
export interface EtcdFailureFacts {
  /** The HTTP status; 0 where no reply came. */
  readonly status: number;
  /** The status of gRPC, where etcd itself has answered: https://grpc.io/docs/guides/status-codes/ */
  readonly grpcCode?: number | undefined;
  /** The code of the socket or of TLS, where no reply came. */
  readonly socketCode?: string | undefined;
}

/** A request to etcd that failed: it was refused, or no reply came. The message has nothing secret in it. */
export class EtcdFailure extends Error {
  readonly status: number;
  readonly grpcCode: number | undefined;
  readonly socketCode: string | undefined;

  constructor(message: string, { status, grpcCode, socketCode }: EtcdFailureFacts) {
    super(message);
    this.name = "EtcdFailure";
    this.status = status;
    this.grpcCode = grpcCode;
    this.socketCode = socketCode;
  }
}

/** Returns the failure that a line of a stream tells of: `{ error }`. */
export function failureInStream({ error }: Json, status: number): EtcdFailure {
  const { grpc_code: grpcCode, code, message } = (error ?? {}) as Json;
  return new EtcdFailure(typeof message === "string" ? message : "the stream has ended with an error", {
    status,
    grpcCode: [grpcCode, code].find((one): one is number => typeof one === "number"),
  });
}

/** What to ask where an endpoint with a URL of this scheme does not answer as one would. */
export const WRONG_SCHEME = {
  "http:": "Is it a member of https: rather than http:?",
  "https:": "Is it a member of http: rather than https:?",
} as const;
