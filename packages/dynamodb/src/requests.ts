import type { ConditionalCheckFailedException, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { ConfigurationError, type Clock } from "@leasehold/core";
import { instantOf, type Instant } from "@leasehold/core/provider";
import { toStoreError } from "./dynamodb-errors.ts";
import type { DynamoDBClock } from "./clock.ts";

/** The SDK's name for the step that sends a request again. A step of a command takes the place of a client's of that name. */
const RETRY_STEP = "retryMiddleware";

/** A client of either kind: both send the plain commands. */
export type AnyDynamoDBClient = DynamoDBClient | DynamoDBDocumentClient;

/** A command of the SDK, of which only the kind of its reply matters here. */
interface Command<Output> {
  readonly middlewareStack: object;
  readonly resolveMiddleware: (...args: never[]) => (args: never) => Promise<{ output: Output }>;
}

/** The steps that a command goes through on its way, so far as they are used here. */
interface Steps {
  add(
    step: (next: Handler) => Handler,
    options: { readonly name: string; readonly step: string; readonly priority: "high" | "low"; readonly override: true },
  ): void;
}
type Handler = (args: unknown) => Promise<{ readonly response: unknown }>;

/** The subject of a request, for its errors. */
export interface RequestLabel {
  readonly operation: string;
  readonly election: string;
  readonly writes: boolean;
}

/**
 * Sends commands through the user's client, each as exactly one request that ends when its signal says so, and learns
 * the service's time from the replies, failures among them. The client itself is left as it is: what differs is
 * attached to each command.
 */
export class DynamoDBRequests {
  readonly #client: AnyDynamoDBClient;
  readonly #clock: Clock;
  readonly #time: DynamoDBClock;

  /** @throws {ConfigurationError} unless it is a client whose own retries can be kept off. */
  constructor(client: AnyDynamoDBClient, clock: Clock, time: DynamoDBClock) {
    checkClient(client);
    this.#client = client;
    this.#clock = clock;
    this.#time = time;
  }

  /** @throws {StoreError} whatever goes wrong; the SDK's own error where a condition did not hold. */
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
      // Captive portals and proxies answer anything with success.
      if (output.$metadata.requestId === undefined)
        throw new Error("the answer is not the service's: it has no x-amzn-requestid");
      return output;
    } catch (error) {
      // Not a failure: the service's answer to a condition.
      if (isConditionFailed(error)) throw error;
      throw toStoreError(error, label.operation, label.election, label.writes);
    }
  }

  /** In place of the SDK's retries: one step for all that is ours, since a command's steps are sorted anew whenever one is sent. */
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

/** Reports whether it is the service's refusal, by its name: two copies of the SDK may be installed. */
export function isConditionFailed(error: unknown): error is ConditionalCheckFailedException {
  const { name, $metadata } = (error ?? {}) as Partial<ConditionalCheckFailedException>;
  return name === "ConditionalCheckFailedException" && $metadata?.requestId !== undefined;
}

/** Returns the milliseconds since the Unix epoch that a `Date` header names; NaN where it names none. */
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
    `This version of @aws-sdk/client-dynamodb has no '${RETRY_STEP}', and so its retries, which outlive a lease, cannot be kept off. Use a version that @leasehold/dynamodb was tested with.`,
  );
}
