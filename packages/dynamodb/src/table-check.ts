import { DescribeTableCommand, type AttributeValue } from "@aws-sdk/client-dynamodb";
import { ConfigurationError, isLeaseholdError, type StoreError } from "@leasehold/core";
import { onAbort, type Clock, sendRequest, StoreWarnings } from "@leasehold/core/provider";
import { STORE_NAME } from "./dynamodb-errors.ts";
import type { DynamoDBRequests } from "./requests.ts";

/** The longest wait for a reply of the control plane. */
const ANSWER_MS = 2_000;
/** The pause before the next question, if the last one had no answer or a bad answer. */
const ASK_AGAIN_MS = 60_000;
/**
 * The attribute that a global table of version 2017.11.29 adds to each item soon after it is written. `DescribeTable` does not
 * show such replicas. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/globaltables.V1.html
 */
const REPLICA_MARK = "aws:rep:updateregion";
/** A first write waits for the first answer for at most this part of its lease. */
const PATIENCE = 1 / 20;

/**
 * Checks that a table can hold leases. In a global table with eventually consistent replicas two regions can win the same
 * condition.
 *
 * The check asks the control plane one question, `DescribeTable`, in the background, from the first read on. So a standby's
 * takeover never waits for the answer. Only a first write right after the first read waits for it, and only for a moment. Without
 * an answer the check warns. While the last answer is bad, every write throws.
 */
export class TableCheck {
  readonly #requests: DynamoDBRequests;
  readonly #clock: Clock;
  readonly #tableName: string;
  /** The answer to the last question. */
  #answer: Promise<void> | undefined;
  /** The answer to the first question, until a write has waited for it. Later writes wait for no answer. */
  #first: Promise<void> | undefined;
  #askAgainMs = -Infinity;
  /** True once the answer is final: it was good, or the permission to ask is denied. No further question is sent. */
  #settled = false;
  /** The regions of the replicas that make the table unfit. */
  #eventual: readonly string[] = [];
  /** The region named in an item of a global table of version 2017.11.29. */
  #legacyRegion: string | undefined;
  /** The error of the last question, if that got no answer. */
  #failure: StoreError | undefined;
  /** True once this process writes. A process that only reads needs no answer, and may lack the permission to ask. */
  #writes = false;
  readonly warnings: StoreWarnings = new StoreWarnings();
  /** True if the table is known to be replicated with strong consistency, which excludes transactions. */
  strongReplicas = false;

  constructor(requests: DynamoDBRequests, clock: Clock, tableName: string) {
    this.#requests = requests;
    this.#clock = clock;
    this.#tableName = tableName;
  }

  /** Asks in the background, unless a question is under way, was sent less than `ASK_AGAIN_MS` ago, or is no longer needed. */
  ask(election: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#settled || nowMs < this.#askAgainMs) return;
    const isFirst = this.#askAgainMs === -Infinity;
    this.#askAgainMs = nowMs + ASK_AGAIN_MS;
    this.#answer = this.#describe(election);
    if (isFirst) this.#first = this.#answer;
  }

  /**
   * Must be called before each write.
   * @throws {ConfigurationError} if the table is known to be unfit for leases.
   */
  async waitUntilChecked(election: string, leaseDurationMs: number): Promise<void> {
    this.ask(election);
    if (this.#first) await this.#waitFor(this.#first, leaseDurationMs * PATIENCE);
    this.#first = undefined;
    this.assertUsable(election);
  }

  /** Throws instead of waiting for an answer. @throws {ConfigurationError} if the table is known to be unfit for leases. */
  assertUsable(election: string): void {
    this.#writes = true;
    this.#warn();
    if (this.#legacyRegion !== undefined) throw this.#unfit(election, ...this.#legacyTable(this.#legacyRegion));
    if (this.#eventual.length > 0) {
      throw this.#unfit(election, `has eventually consistent replicas (${this.#eventual.join(", ")})`, "");
    }
  }

  /** Checks an item of the table. An item with the mark of a global table of version 2017.11.29 makes the table unfit. */
  sawItem(item: Readonly<Record<string, AttributeValue>>): void {
    const mark = item[REPLICA_MARK];
    if (mark) this.#legacyRegion = mark.S ?? "?";
  }

  /** Waits for the answer to the last question, at most `patienceMs`, or until the signal aborts. */
  async wait(patienceMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#answer) await this.#waitFor(this.#answer, patienceMs, signal);
  }

  async #waitFor(answer: Promise<void>, patienceMs: number, signal?: AbortSignal): Promise<void> {
    const outOfPatience = Promise.withResolvers<void>();
    const giveUp = (): void => outOfPatience.resolve();
    const timer = this.#clock.setTimer(giveUp, patienceMs);
    const stopListening = onAbort(signal, giveUp);
    await Promise.race([answer, outOfPatience.promise]);
    stopListening();
    timer.cancel();
  }

  /** Sends a question. Never rejects. */
  async #describe(election: string): Promise<void> {
    const command = new DescribeTableCommand({ TableName: this.#tableName });
    const label = { operation: "describe-table", election, writes: false };
    const request = { ...label, clock: this.#clock, store: STORE_NAME, timeoutMs: ANSWER_MS };
    try {
      const { Table } = await sendRequest(request, (signal) => this.#requests.send(command, label, signal));
      const replicas = Table?.Replicas?.map(({ RegionName }) => RegionName ?? "?") ?? [];
      this.strongReplicas = replicas.length > 0 && Table?.MultiRegionConsistency === "STRONG";
      this.#eventual = this.strongReplicas ? [] : replicas;
      this.#settled = this.#eventual.length === 0;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error as StoreError;
      this.#settled = isDenied(this.#failure);
      this.#warn();
    }
  }

  #warn(): void {
    if (!this.#writes || !this.#failure) return;
    const denied = isDenied(this.#failure);
    this.warnings.warnOnce(
      "LEASEHOLD_TABLE_NOT_CHECKED",
      `${this.#tableName} ${denied}`,
      `The table '${this.#tableName}' may be a global table with eventually consistent replicas, in which two candidates can lead at once; ${
        denied
          ? "dynamodb:DescribeTable is denied, so this could not be checked."
          : `this could not be checked yet, and is asked again every minute. ${this.#failure.message}`
      }`,
    );
  }

  #legacyTable(region: string): readonly [is: string, remedy: string] {
    return [
      `is a global table of version 2017.11.29 (an item has ${REPLICA_MARK}: ${region})`,
      " If it has no replicas any more, remove the attributes aws:rep:* from its items.",
    ];
  }

  #unfit(election: string, is: string, remedy: string): ConfigurationError {
    return new ConfigurationError(
      `The table '${this.#tableName}' ${is}: each region checks conditions on its own copy, so two candidates could lead at once. Use a table in one region, or one with multi-region strong consistency.${remedy}`,
      { election },
    );
  }
}

/**
 * Returns whether the service itself refuses the permission. Expired credentials are another error, because they may be renewed.
 */
function isDenied(error: StoreError): boolean {
  return isLeaseholdError(error, "STORE_DENIED") && (error.cause as Error).name === "AccessDeniedException";
}
