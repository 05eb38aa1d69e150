import { ConfigurationError, type LeaseStore } from "@leasehold/core";
import { checkOptions, defineOptions } from "@leasehold/core/provider";
import { type ScheduleOptions, checkSchedule } from "@leasehold/core/occurrences";
import type { RunCoordinator } from "node-cron";
import { Ticks } from "./tick.ts";

/**
 * The options of {@link RunClaims}. node-cron passes the names. Its `distributedLease` is the time for which others wait for a
 * dead host.
 */
export type RunClaimsOptions<Store extends LeaseStore = LeaseStore> = Pick<
  ScheduleOptions<Store>,
  "store" | "retentionMs" | "candidateId" | "logger" | "clock"
>;

const OPTIONS = defineOptions<RunClaimsOptions>()("store retentionMs candidateId logger clock");

/** A run that was allowed and has not ended. */
interface Run {
  readonly end: () => void;
  readonly recorded: Promise<unknown>;
}

/**
 * A `RunCoordinator` for node-cron: of all hosts, one gets `true` for each run of a task with `distributed: true`.
 *
 * Prefer {@link oncePerTick}, for two reasons. First, node-cron calls `onComplete` after a failed run too, and does not pass the
 * error. A failed run therefore counts as done, and no other host does it again. Second, a coordinator cannot tell the task
 * anything. So the task does not learn that its claim is lost, and that another host may run beside it. Nor does it learn when
 * this process has to stop.
 *
 * The claim is renewed until the run has ended, however long it takes. `distributedLease` is the time for which others wait for a
 * host that died. No host runs that tick again. Name the task, because hosts recognise it by the name.
 *
 * @example
 * ```ts
 * cron.schedule("0 3 * * *", closeTheBooks, { name: "close-the-books", distributed: true, runCoordinator: new RunClaims({ store
 * }) });
 * ```
 */
export class RunClaims implements RunCoordinator {
  readonly #options: RunClaimsOptions;
  readonly #runs = new Map<string, Run>();

  /** @throws {ConfigurationError} {UnsupportedError} for options that cannot work. */
  constructor(options: RunClaimsOptions) {
    checkOptions("RunClaims", options, OPTIONS);
    checkSchedule("RunClaims", { ...options, name: "any" });
    this.#options = options;
  }

  /** Claims a run. @throws {StoreError} if the store cannot be reached. node-cron then skips the run. */
  async shouldRun(key: string, ttlMs: number): Promise<boolean> {
    const { name, scheduledMs } = slotOf(key);
    const ticks = new Ticks("RunClaims", { ...this.#options, name, leaseDurationMs: ttlMs, whenInProgress: "return" });
    return await this.#claim(key, scheduledMs, ticks);
  }

  /**
   * Records that a run has ended, with or without an error. @throws {NotRecordedError} {LeaseLostError} as `oncePerOccurrence`.
   */
  async onComplete(key: string): Promise<void> {
    const run = this.#runs.get(key);
    this.#runs.delete(key);
    run?.end();
    await run?.recorded;
  }

  async #claim(key: string, scheduledMs: number, ticks: Ticks<LeaseStore>): Promise<boolean> {
    const claimed = Promise.withResolvers<boolean>();
    const ended = Promise.withResolvers<void>();
    const recorded = ticks.run(scheduledMs, async () => {
      this.#runs.set(key, { end: ended.resolve, recorded });
      claimed.resolve(true);
      await ended.promise;
    });
    // Once the run is claimed, `onComplete` reports a failure.
    recorded.then(() => claimed.resolve(false), claimed.reject);
    return await claimed.promise;
  }
}

/** node-cron's format of a key: the task's name, a colon, and the time at which the run was due. */
const KEY = /^(.+):(\d{4}-\d{2}-\d{2}T[\d:.]+Z)$/s;

function slotOf(key: string): { readonly name: string; readonly scheduledMs: number } {
  const [, name, due = ""] = KEY.exec(key) ?? [];
  // oxlint-disable-next-line eslint/no-restricted-globals -- reads a text, and no clock
  const scheduledMs = Date.parse(due);
  if (name !== undefined && Number.isFinite(scheduledMs)) return { name, scheduledMs };
  throw new ConfigurationError(
    `node-cron gave the key ${JSON.stringify(key)}, which is not <name>:<time>. Give the task a name.`,
  );
}
