import type { ConditionalCheckFailedException, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { ConfigurationError } from "@leasehold/core";
import { type Clock, instantOf, type Instant } from "@leasehold/core/provider";
import { toStoreError } from "./dynamodb-errors.ts";
import type { DynamoDBClock } from "./clock.ts";

/** The SDK's name for the step that sends a request again. A step of a command replaces the client's step of the same name. */
const RETRY_STEP = "retryMiddleware";

/** A client of either kind. Both send the plain commands. */
export type AnyDynamoDBClient = DynamoDBClient | DynamoDBDocumentClient;

/** A command of the SDK. Only the type of its reply matters here. */
interface Command<Output> {
  readonly middlewareStack: object;
  readonly resolveMiddleware: (...args: never[]) => (args: never) => Promise<{ output: Output }>;
}

/** The part of a command's middleware stack that this module uses. */
interface Steps {
  add(
    step: (next: Handler) => Handler,
    options: { readonly name: string; readonly step: string; readonly priority: "high" | "low"; readonly override: true },
  ): void;
}
type Handler = (args: unknown) => Promise<{ readonly response: unknown }>;

/** Describes a request in its errors. */
export interface RequestLabel {
  readonly operation: string;
  readonly election: string;
  readonly writes: boolean;
}

/**
 * Sends commands through the user's client. Each command is exactly one request, which ends when its signal aborts. Learns the
 * service's time from all replies, also from failures. The client itself stays unchanged, because the differences are attached to
 * each command.
 */
export class DynamoDBRequests {
  readonly #client: AnyDynamoDBClient;
  readonly #clock: Clock;
  readonly #time: DynamoDBClock;

  /** @throws {ConfigurationError} unless the client's own retries can be turned off. */
  constructor(client: AnyDynamoDBClient, clock: Clock, time: DynamoDBClock) {
    checkClient(client);
    this.#client = client;
    this.#clock = clock;
    this.#time = time;
  }

  /** @throws {StoreError} for every failure. If a condition did not hold, the SDK's own error is thrown. */
  async send<Output extends { readonly $metadata: { readonly requestId?: string | undefined } }>(
    command: Command<Output>,
    label: RequestLabel,
    signal: AbortSignal,
  ): Promise<Output> {
    const steps = command.middlewareStack as Steps;
    steps.add((next) => this.#once(next), { name: RETRY_STEP, step: "finalizeRequest", priority: "high", override: true });
    try {
      signal.throwIfAborted();
      const send = this.#client.send.bind(this.#client) as (command: unknown, options: object) => Promise<Output>;
      const output = await send(command, { abortSignal: signal });
      // Captive portals and proxies may answer any request with success.
      if (output.$metadata.requestId === undefined)
        throw new Error("the answer is not the service's: it has no x-amzn-requestid");
      return output;
    } catch (error) {
      // The service's answer to a condition is not a failure.
      if (isConditionFailed(error)) throw error;
      throw toStoreError(error, label.operation, label.election, label.writes);
    }
  }

  /**
   * Replaces the SDK's retries. One step does all of this module's work, because the SDK sorts a command's steps again at each
   * send.
   */
  #once(next: Handler): Handler {
    return async (args) => {
      const sentAt = instantOf(this.#clock);
      try {
        const result = await next(args);
        this.#learn(result.response, sentAt);
        return result;
      } catch (error) {
        this.#learn((error as { readonly $response?: unknown } | undefined)?.$response, sentAt);
        throw error;
      }
    };
  }

  #learn(response: unknown, sentAt: Instant): void {
    const { headers = {} } = (response ?? {}) as { readonly headers?: Readonly<Record<string, string>> };
    if (headers["x-amzn-requestid"] !== undefined) this.#time.sample(dateOf(headers["date"]), sentAt);
  }
}

/**
 * Returns whether the error is the service's refusal of a condition. Compares the name, because two copies of the SDK may be
 * installed.
 */
export function isConditionFailed(error: unknown): error is ConditionalCheckFailedException {
  const { name, $metadata } = (error ?? {}) as Partial<ConditionalCheckFailedException>;
  return name === "ConditionalCheckFailedException" && $metadata?.requestId !== undefined;
}

/** Returns the time in a `Date` header, in milliseconds since the Unix epoch; NaN if the header is not a date. */
function dateOf(header: string | undefined): number {
  // oxlint-disable-next-line eslint/no-restricted-globals -- reads a text, and no clock
  return Date.parse(header ?? "");
}

function checkClient(client: AnyDynamoDBClient): void {
  const { send, middlewareStack } = (client ?? {}) as Partial<AnyDynamoDBClient>;
  if (typeof send !== "function" || typeof middlewareStack?.identify !== "function") {
    throw new ConfigurationError("client is not a DynamoDBClient of @aws-sdk/client-dynamodb, nor a DynamoDBDocumentClient.");
  }
  if (middlewareStack.identify().some((step) => step.startsWith(RETRY_STEP))) return;
  throw new ConfigurationError(
    `This version of @aws-sdk/client-dynamodb has no '${RETRY_STEP}', so its retries, which outlive a lease, cannot be turned off. Use a version that @leasehold/dynamodb was tested with.`,
  );
}
