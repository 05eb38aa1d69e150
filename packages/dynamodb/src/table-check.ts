import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import { ConfigurationError, isLeaseholdError, type Clock, type StoreError } from "@leasehold/core";
import { StoreWarnings } from "@leasehold/core/provider";
import type { DynamoDBRequests } from "./requests.ts";

/** The longest wait for an answer. */
const ANSWER_MS = 2_000;
/** The pause before a question that was not answered, or answered badly, is asked again. */
const ASK_AGAIN_MS = 60_000;
/** The part of its lease that a first write waits for the first answer, at most. */
const PATIENCE = 1 / 20;

/**
 * Checks that a table can hold leases at all: a global table with eventually consistent replicas lets two regions win the
 * same condition. The control plane is asked in the background, from the first read on, so that it never stands between
 * a standby and its takeover: only a first write right after the first read waits for the answer, and only for a moment.
 * No answer is a warning. A bad answer ends all writing, whenever it comes.
 */
export class TableCheck {
  readonly #requests: DynamoDBRequests;
  readonly #clock: Clock;
  readonly #tableName: string;
  /** The answer to the last question. */
  #answer: Promise<void> | undefined;
  /** The answer to the first question, until a write has waited for it: a takeover long after it waits for none. */
  #first: Promise<void> | undefined;
  #askAgainMs = -Infinity;
  /** The answer is known, or will never be: nothing more is asked. */
  #settled = false;
  /** The regions of the replicas that make the table unfit. */
  #eventual: readonly string[] = [];
  /** The reason why the answer is not known. */
  #failure: StoreError | undefined;
  /** Somebody writes. A process that only reads needs no answer, and may lack the permission to ask. */
  #writes = false;
  readonly warnings: StoreWarnings = new StoreWarnings();
  /** The table is known to be replicated with strong consistency, which excludes transactions. */
  strongReplicas = false;

  constructor(requests: DynamoDBRequests, clock: Clock, tableName: string) {
    this.#requests = requests;
    this.#clock = clock;
    this.#tableName = tableName;
  }

  /** Asks in the background, unless that is under way, was done just now, or is needless. */
  ask(election: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#settled || nowMs < this.#askAgainMs) return;
    const isFirst = this.#askAgainMs === -Infinity;
    this.#askAgainMs = nowMs + ASK_AGAIN_MS;
    this.#answer = this.#describe(election);
    if (isFirst) this.#first = this.#answer;
  }

  /**
   * To be called before each write.
   * @throws {ConfigurationError} if the table is known to be unfit for leases.
   */
  async admit(election: string, leaseDurationMs: number): Promise<void> {
    this.ask(election);
    if (this.#first) await this.#waitFor(this.#first, leaseDurationMs * PATIENCE);
    this.#first = undefined;
    this.demand(election);
  }

  /** @throws {ConfigurationError} if the table is known to be unfit for leases. */
  demand(election: string): void {
    this.#writes = true;
    this.#warn();
    if (this.#eventual.length > 0) throw this.#unfit(election);
  }

  /** Waits for the answer to the last question, no longer than that, and until the signal aborts. */
  async wait(patienceMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#answer) await this.#waitFor(this.#answer, patienceMs, signal);
  }

  async #waitFor(answer: Promise<void>, patienceMs: number, signal?: AbortSignal): Promise<void> {
    const outOfPatience = Promise.withResolvers<void>();
    const giveUp = (): void => outOfPatience.resolve();
    const timer = this.#clock.setTimer(giveUp, patienceMs);
    signal?.addEventListener("abort", giveUp, { once: true });
    await Promise.race([answer, outOfPatience.promise]);
    signal?.removeEventListener("abort", giveUp);
    timer.cancel();
  }

  /** Never rejects. */
  async #describe(election: string): Promise<void> {
    const givingUp = new AbortController();
    const timer = this.#clock.setTimer(() => givingUp.abort(), ANSWER_MS);
    const command = new DescribeTableCommand({ TableName: this.#tableName });
    const label = { operation: "describe-table", election, writes: false };
    try {
      const { Table } = await this.#requests.send(command, label, givingUp.signal);
      const replicas = Table?.Replicas?.map(({ RegionName }) => RegionName ?? "?") ?? [];
      this.strongReplicas = replicas.length > 0 && Table?.MultiRegionConsistency === "STRONG";
      this.#eventual = this.strongReplicas ? [] : replicas;
      this.#settled = this.#eventual.length === 0;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error as StoreError;
      this.#settled = isDenied(this.#failure);
      this.#warn();
    } finally {
      timer.cancel();
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

  #unfit(election: string): ConfigurationError {
    return new ConfigurationError(
      `The table '${this.#tableName}' has eventually consistent replicas (${this.#eventual.join(", ")}): each region checks conditions on its own copy, so two candidates could lead at once. Use a table in one region, or one with multi-region strong consistency.`,
      { election },
    );
  }
}

/** Reports whether the service itself refuses the permission; credentials that have expired may be renewed. */
function isDenied(error: StoreError): boolean {
  return isLeaseholdError(error, "STORE_DENIED") && (error.cause as Error).name === "AccessDeniedException";
}
