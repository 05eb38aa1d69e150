import type { S3Client } from "@aws-sdk/client-s3";
import { ConfigurationError } from "@leasehold/core";
import type { ReplyHeaders } from "../reply-headers.ts";
import { foreignAnswer, ServiceFailure, type ObjectFailure } from "../object-errors.ts";

/** The SDK's name for the step that sends a request again. A step of a command replaces the client's step of the same name. */
const RETRY_STEP = "retryMiddleware";

/** A command of the SDK. Only the type of its reply matters here. */
interface Command<Output> {
  readonly middlewareStack: object;
  readonly resolveMiddleware: (...args: never[]) => (args: never) => Promise<{ output: Output }>;
}

interface Reply {
  readonly headers?: Readonly<Record<string, string>>;
}
type Handler = (args: unknown) => Promise<{ readonly response: unknown }>;

/** The part of a command's middleware stack that this module uses. */
interface Steps {
  add(
    step: (next: Handler) => Handler,
    options: { readonly name: string; readonly step: string; readonly priority: "high" | "low"; readonly override: true },
  ): void;
}

/** The result of a command, and the headers of the reply with it. */
export interface Answer<Output> {
  readonly output: Output;
  readonly names: readonly string[];
  readonly headers: ReplyHeaders;
}

/**
 * Sends a command through the user's client as exactly one request, which ends when the signal aborts. The client itself stays
 * unchanged, because the differences are attached to the command.
 * @throws {ServiceFailure} for every failure.
 */
export async function sendOnce<Output>(client: S3Client, command: Command<Output>, signal: AbortSignal): Promise<Answer<Output>> {
  let reply: Reply | undefined;
  const once = (next: Handler): Handler => {
    return async (args) => {
      const result = await next(args);
      reply = result.response as Reply;
      return result;
    };
  };
  const steps = command.middlewareStack as Steps;
  steps.add(once, { name: RETRY_STEP, step: "finalizeRequest", priority: "high", override: true });
  try {
    signal.throwIfAborted();
    const send = client.send.bind(client) as (command: unknown, options: object) => Promise<Output>;
    const output = await send(command, { abortSignal: signal });
    const found = reply?.headers ?? {};
    const headers: ReplyHeaders = (name) => found[name];
    // Captive portals and proxies may answer any request with success.
    if (!isFromService(found)) throw new ServiceFailure(foreignAnswer("it has no x-amz-request-id"));
    if (found["age"] !== undefined)
      throw new ServiceFailure(foreignAnswer("it has the header Age, so that it comes from a cache"));
    return { output, names: Object.keys(found), headers };
  } catch (error) {
    throw error instanceof ServiceFailure ? error : new ServiceFailure(failureOfSdk(error));
  }
}

/** Returns whether the service answered. Cloudflare R2 names its replies by `cf-ray`. */
function isFromService(headers: Readonly<Record<string, string>>): boolean {
  return headers["x-amz-request-id"] !== undefined || headers["cf-ray"] !== undefined;
}

function failureOfSdk(error: unknown): ObjectFailure {
  const {
    name = "Error",
    code,
    Code,
    message = "",
    $metadata,
    $response,
  } = (error ?? {}) as {
    readonly name?: string;
    readonly code?: string;
    readonly Code?: string;
    readonly message?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
    readonly $response?: Reply;
  };
  const status = $metadata?.httpStatusCode ?? 0;
  const headers = $response?.headers ?? {};
  // Without a reply the SDK's name may be a plain `Error`, or a TimeoutError for a closed connection.
  const own = status === 0 ? (code ?? name) : (Code ?? name);
  return {
    status,
    code: own,
    message: message === own ? "" : message,
    isFromService: isFromService(headers),
    retryAfter: headers["retry-after"],
  };
}

/** Returns whether `client` is a client for S3. Checks its members, because two copies of the SDK may be installed. */
export function isS3Client(client: unknown): client is S3Client {
  const { send, config } = (client ?? {}) as Partial<S3Client>;
  return typeof send === "function" && (config as { readonly serviceId?: unknown } | undefined)?.serviceId === "S3";
}

/** @throws {ConfigurationError} unless the retries of the SDK can be turned off, because they outlive a lease. */
export function checkRetries(client: S3Client): void {
  if (client.middlewareStack.identify().some((step) => step.startsWith(RETRY_STEP))) return;
  throw new ConfigurationError(
    `This version of @aws-sdk/client-s3 has no '${RETRY_STEP}', so its retries, which outlive a lease, cannot be turned off. Use a version that @leasehold/object-storage was tested with.`,
  );
}
