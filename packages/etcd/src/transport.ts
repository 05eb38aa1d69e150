/** A JSON object in the shape of etcd's gateway: 64-bit numbers are strings of digits, bytes are base64. */
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

/** The options of one request. */
export interface CallOptions {
  /** Aborts once the caller no longer waits for the reply. */
  readonly signal: AbortSignal;
  /** The only endpoint that may get the request, in the form of {@link EtcdReply.endpoint}. @defaultValue any */
  readonly endpoint?: string | undefined;
  /** The token that `/v3/auth/authenticate` returned for the user. */
  readonly token?: string | undefined;
}

export interface EtcdReply {
  /** For a method that streams (`/v3/lease/keepalive`), the first line: `{ result }` or `{ error }`. */
  readonly body: Json;
  /** The endpoint that answered. */
  readonly endpoint: string;
}

/**
 * Sends requests to etcd: to its JSON gateway over HTTP, or to a simulated service. It sends each request once, and has no time
 * limits of its own: the caller ends a request by the signal. A failure is an {@link EtcdFailure}, or the signal's reason.
 */
export interface EtcdTransport {
  call(path: EtcdPath, body: Json, options: CallOptions): Promise<EtcdReply>;
  /**
   * Sends the requests of one `/v3/watch`, and yields each `result` as it comes. Ends when the service ends it, or the signal
   * aborts.
   */
  watch(requests: readonly Json[], options: CallOptions): AsyncIterable<Json>;
  /** Sends later requests to another endpoint, if `endpoint` is the present one. It has answered for a cluster that went back. */
  leave?(endpoint: string): void;
}

/** The facts about a request that failed. */
export interface EtcdFailureFacts {
  /** The HTTP status; 0 if no reply came. */
  readonly status: number;
  /** The gRPC status, if etcd itself has answered: https://grpc.io/docs/guides/status-codes/ */
  readonly grpcCode?: number | undefined;
  /** The error code of the socket or of TLS, if no reply came. */
  readonly socketCode?: string | undefined;
}

/** A failed request to etcd: it was refused, or no reply came. The message contains no secret. */
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

/** Returns the failure in a stream's line `{ error }`. */
export function failureInStream({ error }: Json, status: number): EtcdFailure {
  const { grpc_code: grpcCode, code, message } = (error ?? {}) as Json;
  return new EtcdFailure(typeof message === "string" ? message : "the stream has ended with an error", {
    status,
    grpcCode: [grpcCode, code].find((one): one is number => typeof one === "number"),
  });
}

/** The question to add to an error if an endpoint with a URL of this scheme does not answer as expected. */
export const WRONG_SCHEME = {
  "http:": "Is it a member of https: rather than http:?",
  "https:": "Is it a member of http: rather than https:?",
} as const;
