import { Elector } from "../election/elector.ts";
import type { Leader, Leadership, OccurrenceLeadership } from "../election/leadership.ts";
import { ConfigurationError, isOutage, LeadershipEndedError, UnsupportedError } from "../reporting/errors.ts";
import type { LoggerOption } from "../reporting/journal.ts";
import type { NotRun } from "../store/lease-snapshot.ts";
import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";
import type { Clock } from "../time/clock.ts";
import type { LatestBegin } from "./attempt.ts";
import { pauseAlive } from "./tries.ts";

/**
 * The relation of an occurrence to an earlier one of its schedule that still runs, on any host.
 * - `allowAll`: both run.
 * - `skip`: the occurrence is skipped.
 * - `bufferOne`: the occurrence waits for the end of the other. It is skipped if another one waits already.
 * - `cancelOther`: the signal of the other's task aborts, and the occurrence begins once that task has ended.
 */
export type Overlap = "allowAll" | "skip" | "bufferOne" | "cancelOther";

const POLICIES: readonly Overlap[] = ["allowAll", "skip", "bufferOne", "cancelOther"];
/** The first wait for an occurrence or a schedule that another host leads. It doubles up to the renew interval. */
export const FIRST_WAIT_MS = 250;
/** The election that the waiting occurrence leads. No occurrence has this name, because their names contain an @. */
const BUFFER = "buffered";

export interface OverlapOptions {
  readonly store: LeaseStore;
  /** The schedule's election in `store`. The host that runs an occurrence leads it. */
  readonly election: string;
  readonly overlap: Overlap;
  readonly occurrences: OccurrenceStore;
  readonly clock: Clock;
  readonly leaseDurationMs?: number | undefined;
  readonly drainTimeoutMs?: number | undefined;
  readonly logger?: LoggerOption;
  readonly latest?: LatestBegin | undefined;
}

export type Settled<T> = { readonly ran: true; readonly result: T } | { readonly ran: false; readonly reason: NotRun };

/** Its first argument is the claim, and is over as soon as the schedule's leadership is. The second one is for a fence. */
type ScheduledTask<T> = (leadership: OccurrenceLeadership, schedule: Leadership) => Promise<T> | T;

/** @throws {ConfigurationError} {UnsupportedError} for a policy that cannot work with this store. */
export function checkOverlap(overlap: unknown, store: LeaseStore, whose: string): void {
  if (overlap === undefined) return;
  if (!POLICIES.includes(overlap as Overlap)) {
    throw new ConfigurationError(`overlap is ${JSON.stringify(overlap)}; it must be '${POLICIES.join("', '")}'.`);
  }
  if (overlap !== "cancelOther" || store.capabilities.transfer) return;
  throw new UnsupportedError(
    `${store.name} has no transfer, by which ${whose} with overlap 'cancelOther' cancels. Use another policy.`,
  );
}

/**
 * Runs the task as leader of its schedule's election, so that no two run at once. The caller then completes the occurrence, also
 * if it did not run.
 * @throws the task's error; the reason of the claim's signal, if that aborts before the task begins.
 */
export async function runByOverlap<T>(
  options: OverlapOptions,
  claim: OccurrenceLeadership,
  task: ScheduledTask<T>,
): Promise<Settled<T>> {
  const turn = new ScheduleTurn(options, claim);
  try {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, Math.max(turn.renewIntervalMs, FIRST_WAIT_MS))) {
      const decided = await turn.take(task).catch((error: unknown) => {
        // While the store does not answer, the claim decides how long to try.
        if (isOutage(error) && !turn.hasBegun) return undefined;
        throw error;
      });
      if (decided) return decided;
      await pauseAlive(options.clock, waitMs, claim);
      const { latest } = options;
      if (latest && options.clock.wallMs() > latest.wallMs) return { ran: false, reason: "missed" };
    }
  } finally {
    await turn.leaveBuffer();
  }
}

class ScheduleTurn {
  readonly #options: OverlapOptions;
  readonly #claim: OccurrenceLeadership;
  readonly #candidateId: string;
  readonly #elector: Elector;
  #buffered: AsyncDisposable | undefined;
  /** The term that was asked to end. */
  #cancelledTerm: number | undefined;
  #transfer: AbortController | undefined;
  hasBegun = false;

  constructor(options: OverlapOptions, claim: OccurrenceLeadership) {
    this.#options = options;
    this.#claim = claim;
    const { candidateId } = claim;
    // A transfer names its successor, and hosts may share a label. A name has 255 bytes at most.
    const unique = [...candidateId].slice(0, 60).join("") + `-${options.clock.randomUuid().slice(0, 8)}`;
    this.#candidateId = options.overlap === "cancelOther" ? unique : candidateId;
    this.#elector = this.#candidate(options.store, options.election);
  }

  get renewIntervalMs(): number {
    return this.#elector.timing.renewIntervalMs;
  }

  /** Runs the task if the schedule is free. Returns `undefined` if the occurrence has to wait. */
  async take<T>(task: ScheduledTask<T>): Promise<Settled<T> | undefined> {
    const held = await this.#elector.tryCampaign({ signal: this.#claim.signal });
    if (!held) return await this.#decide(this.#elector.leader);
    this.hasBegun = true;
    await using leadership = held;
    await this.leaveBuffer();
    this.#claim.checkpoint();
    try {
      return { ran: true, result: await task(both(this.#claim, leadership), leadership) };
    } catch (error) {
      const { reason } = leadership.signal as { readonly reason: unknown };
      const isCancelled = reason instanceof LeadershipEndedError && reason.reason === "transferred";
      if (isCancelled) return { ran: false, reason: "cancelled" };
      throw error;
    }
  }

  async leaveBuffer(): Promise<void> {
    const buffered = this.#buffered;
    this.#buffered = undefined;
    await buffered?.[Symbol.asyncDispose]();
  }

  async #decide(other: Leader | undefined): Promise<Settled<never> | undefined> {
    const { overlap } = this.#options;
    if (!other) return (await this.#isPaused()) ? { ran: false, reason: "paused" } : undefined;
    // An earlier attempt of this occurrence has died, and its lease has not expired.
    if (other.value === this.#claim.election) return undefined;
    if (overlap === "bufferOne" && (await this.#mayWait())) return undefined;
    // The names of a schedule's occurrences sort by time.
    const isEarlier = other.value === undefined || other.value < this.#claim.election;
    if (overlap !== "cancelOther" || !isEarlier) return { ran: false, reason: "overlap" };
    this.#cancel(other);
    return undefined;
  }

  async #isPaused(): Promise<boolean> {
    const { store, election } = this.#options;
    const { signal } = this.#claim;
    const found = await store.read(election, { timeoutMs: this.#elector.timing.attemptTimeoutMs, signal });
    return found?.bar?.kind === "pause";
  }

  async #mayWait(): Promise<boolean> {
    if (this.#buffered) return true;
    const elector = this.#candidate(this.#options.occurrences, BUFFER);
    this.#buffered = await elector.tryCampaign({ signal: this.#claim.signal });
    const other = elector.leader;
    return this.#buffered !== undefined || other === undefined || other.value === this.#claim.election;
  }

  /** Asks the other occurrence to end, once for each term. Once the record shows that, the transfer need not poll any more. */
  #cancel({ term, state }: Leader): void {
    if (state === "ending") return this.#transfer?.abort();
    if (this.#cancelledTerm === term) return;
    this.#cancelledTerm = term;
    const { store, election } = this.#options;
    const transfer = new AbortController();
    this.#transfer = transfer;
    const signal = AbortSignal.any([this.#claim.signal, transfer.signal]);
    const hasFailed = (): void => {
      if (!transfer.signal.aborted) this.#cancelledTerm = undefined;
    };
    store.transfer(election, this.#elector.candidateId, { ifTerm: term, signal }).catch(hasFailed);
  }

  #candidate(store: LeaseStore, election: string): Elector {
    const { clock, leaseDurationMs, drainTimeoutMs, logger } = this.#options;
    const { election: value } = this.#claim;
    const candidateId = this.#candidateId;
    return new Elector({ store, election, candidateId, value, clock, leaseDurationMs, drainTimeoutMs, logger });
  }
}

/** Returns the claim of an occurrence that is valid only while the host also leads the schedule. */
function both(claim: OccurrenceLeadership, schedule: Leadership): OccurrenceLeadership {
  return {
    ...claim,
    signal: schedule.signal,
    ended: schedule.ended,
    isValid: () => schedule.isValid() && claim.isValid(),
    remainingMs: () => Math.min(schedule.remainingMs(), claim.remainingMs()),
    assertValid: () => {
      schedule.assertValid();
      claim.assertValid();
    },
    renew: async () => {
      schedule.assertValid();
      await claim.renew();
      schedule.assertValid();
    },
  };
}
