import { redact } from "@leasehold/core/provider";

/** A JSON object of Kubernetes' API. */
export type Json = Readonly<Record<string, unknown>>;

/** One request to the API server. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH";
  /** The path and the query. */
  readonly path: string;
  /** A PATCH is a JSON merge patch. */
  readonly body?: Json | undefined;
}

/**
 * Sends requests to an API server over HTTP, or to a simulated server. It sends each request once, and has no time limits of its
 * own: the caller ends a request by the signal. A failure is an {@link ApiFailure}, or the signal's reason.
 */
export interface ApiTransport {
  /** Returns the object of a success. */
  call(request: ApiRequest, signal: AbortSignal): Promise<Json>;
  /** Resolves once the server has begun to watch. The events come as objects until the server ends the watch. */
  watch(path: string, signal: AbortSignal): Promise<AsyncIterable<Json>>;
}

/** The facts about a request that failed. */
export interface ApiFailureFacts {
  /** The HTTP status; 0 if no reply came. */
  readonly status: number;
  /** The reason of the `Status` object, such as `NotFound`; absent if the answer is not Kubernetes' own. */
  readonly reason?: string | undefined;
  /** The resource that the `Status` object is about, such as `leases`. */
  readonly resource?: string | undefined;
  /** The token for the next page of a list, from a reply with status 410. */
  readonly continueToken?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  /** The error code of the socket or of TLS, if no reply came. */
  readonly socketCode?: string | undefined;
}

/** A failed request to the API server: it was refused, or no reply came. The message contains no secret. */
export class ApiFailure extends Error {
  readonly facts: ApiFailureFacts;

  constructor(message: string, facts: ApiFailureFacts) {
    super(message);
    this.name = "ApiFailure";
    this.facts = facts;
  }
}

/**
 * Returns the failure that a `Status` object describes. For any other body, its message says that the answer is not Kubernetes'
 * own.
 */
export function failureOf(status: number, body: Json | undefined, retryAfterMs?: number): ApiFailure {
  if (body?.["kind"] !== "Status") {
    return new ApiFailure(`HTTP ${status}: the answer does not come from Kubernetes' API server`, { status });
  }
  const { message, reason, details, metadata } = body as {
    readonly message?: unknown;
    readonly reason?: unknown;
    readonly details?: { readonly kind?: unknown } | null;
    readonly metadata?: { readonly continue?: unknown } | null;
  };
  return new ApiFailure(redact(textOr(message, `HTTP ${status}`)), {
    status,
    reason: textOr(reason, "Unknown"),
    ...(typeof details?.kind === "string" ? { resource: details.kind } : {}),
    ...(typeof metadata?.continue === "string" ? { continueToken: metadata.continue } : {}),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}
