import { ConfigurationError, type LeaseStore, type ScheduleOptions } from "@leasehold/core";
import { checkOptions, checkSchedule } from "@leasehold/core/provider";
import type { RunCoordinator } from "node-cron";
import { Ticks } from "./tick.ts";

/** The options of {@link RunClaims}: node-cron gives the names, and for how long a claim outlives its host (`distributedLease`). */
export type RunClaimsOptions<Store extends LeaseStore = LeaseStore> = Pick<
  ScheduleOptions<Store>,
  "store" | "retentionMs" | "candidateId" | "logger" | "clock"
>;

const OPTIONS: Readonly<Record<keyof RunClaimsOptions, true>> = {
  store: true,
  retentionMs: true,
  candidateId: true,
  logger: true,
  clock: true,
};

/** A run that was allowed, and goes on. */
interface Run {
  readonly end: () => void;
  readonly recorded: Promise<unknown>;
}

/**
 * A `RunCoordinator` of node-cron's: of all hosts, one gets `true` for each run of a task with `distributed: true`.
 *
 * Prefer {@link oncePerTick}. node-cron calls `onComplete` after a run that failed as well, and tells neither what it threw nor
 * whether it threw: a failed run counts as done here, and no other host does it again. And a task learns nothing from a
 * coordinator: not that its claim is lost, so that another host may run beside it, nor when this process is to stop.
 *
 * The claim is renewed until the run has ended, however long it takes; `distributedLease` is only for how long others wait for a
 * host that died, and nobody runs that tick again. Name the task: the name is what hosts have in common.
 *
 * @example
 * ```ts
 * cron.schedule("0 3 * * *", closeTheBooks, { name: "close-the-books", distributed: true, runCoordinator: new RunClaims({ store }) });
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

  /** Claims a run. @throws {StoreError} if the store cannot be asked: node-cron then skips the run. */
  async shouldRun(key: string, ttlMs: number): Promise<boolean> {
    const { name, scheduledMs } = slotOf(key);
    const ticks = new Ticks("RunClaims", { ...this.#options, name, leaseDurationMs: ttlMs, whenInProgress: "return" });
    return await this.#claim(key, scheduledMs, ticks);
  }

  /** Records that a run has ended, well or not. @throws {NotRecordedError} {LeaseLostError} as `oncePerOccurrence`. */
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
    // Once it is claimed, it is `onComplete` that tells of a failure.
    recorded.then(() => claimed.resolve(false), claimed.reject);
    return await claimed.promise;
  }
}

/** As node-cron writes it: the task's name, a colon, and when the run was due. */
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
