import { sleep, type Clock } from "../time/clock.ts";
import {
  ConfigurationError,
  isLeaseholdError,
  isUnknown,
  PausedError,
  StoreError,
  type StoreErrorCode,
} from "../reporting/errors.ts";
import type { LeaseSnapshot } from "./lease-snapshot.ts";
import type { BreakOptions, BreakOutcome, RequestLimits, TransferOptions, TransferOutcome } from "./lease-store.ts";
import { checkBreak, checkName, checkTerm } from "./names.ts";
import { DEFAULT_REQUEST_TIMEOUT_MS, duration } from "./lease-limits.ts";

/** The time for which only the named candidate of a transfer may acquire. */
const DEFAULT_TRANSFER_TIMEOUT_MS = 30_000;
/**
 * The longest that a transfer may keep everybody else away: a candidate that never comes must not keep an election from
 * leading.
 */
const MAX_TRANSFER_TIMEOUT_MS = 600_000;
/** The number of times that an order is given against others who write, and against lost replies. */
const TRIES = 4;
/** The wait between two looks of a transfer, and after a request of an order that failed. */
const LOOK_MS = 500;

/** An administrator's order to one term. */
export type Order =
  | { readonly kind: "break"; readonly id: string; readonly reason: string; readonly immediate: boolean }
  | { readonly kind: "transfer"; readonly id: string; readonly candidateId: string; readonly timeoutMs: number };

/** Bounds of an administrator's call. The signal ends looks and waits; what has been sent is carried out all the same. */
export interface OrderLimits extends RequestLimits {
  readonly signal?: AbortSignal | undefined;
}

/** An election as an administrator's look has found it. */
export interface Standing {
  readonly snapshot: LeaseSnapshot;
  /** The same without the pause, where the election is paused: a break lifts everything else. */
  readonly beneathPause?: LeaseSnapshot | undefined;
  /** The candidate that leads, or led last. */
  readonly lastHolder: string | undefined;
  /** Reports whether that very order stands there already: no other has its id. */
  isCarriedOut(order: Order): boolean;
  /** Reports whether a candidate may be about to lead, where an acquisition is more than one step. */
  isClaiming?(candidateId: string): boolean;
  /**
   * Writes the order, on the condition that nobody has written since this look; returns whether that was so. What bars an
   * acquisition is over with a break, but for a pause and for the rest of the lease of a holder that may still believe in itself.
   */
  carryOut(order: Order): Promise<boolean>;
  /**
   * Where a failover may undo what a look has found: writes that once more as it is, on the condition that nobody has written
   * since; returns whether that was so. What was found counts then.
   */
  confirm?(): Promise<boolean>;
}

/** The parts of a store that administration needs. */
export interface Administered {
  readonly name: string;
  readonly clock: Clock;
  /** One look; `undefined` where there never was a record. */
  look(election: string, limits: OrderLimits): Promise<Standing | undefined>;
}

interface Given {
  /** True where the order stands; and where no reply came, if the term has ended since or was broken by another. */
  readonly carriedOut: boolean;
  readonly term: number;
  readonly current: LeaseSnapshot | undefined;
}

/** Breaks and transfers on any store. Each is an order to one term, which never hits that term's successor. */
export class Administration {
  readonly #store: Administered;

  constructor(store: Administered) {
    this.#store = store;
  }

  /** See {@link LeaseStore.break}. */
  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    checkName("election", election);
    checkBreak(options);
    const { reason, ifTerm, immediate = false } = options;
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS };
    const order = { kind: "break", id: this.#store.clock.randomUuid(), reason, immediate } as const;
    const { carriedOut, term, current } = await this.#give(election, order, ifTerm, limits);
    return carriedOut ? { broken: true, term } : { broken: false, current };
  }

  /** See {@link LeaseStore.transfer}. */
  async transfer(election: string, candidateId: string, options: TransferOptions = {}): Promise<TransferOutcome> {
    checkName("election", election);
    checkName("candidateId", candidateId);
    checkTerm("ifTerm", options.ifTerm);
    const timeoutMs = transferTimeout(options.transferTimeoutMs ?? DEFAULT_TRANSFER_TIMEOUT_MS);
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS, signal: options.signal };
    const order = { kind: "transfer", id: this.#store.clock.randomUuid(), candidateId, timeoutMs } as const;
    const { carriedOut, term, current } = await this.#give(election, order, options.ifTerm, limits);
    if (!carriedOut) return "lost";
    return await this.#awaitSuccessor(election, term, order, current, limits);
  }

  /**
   * Gives an order to a term, and to no other. A lost reply is resolved by looking, and the order repeated under the same id.
   */
  async #give(election: string, order: Order, ifTerm: number | undefined, limits: OrderLimits): Promise<Given> {
    let term = ifTerm;
    let unanswered: unknown;
    for (let tries = 0; tries < TRIES; tries += 1) {
      let isSent = false;
      try {
        const standing = await this.#store.look(election, limits);
        const current = standing?.snapshot;
        term ??= current?.term;
        if (standing?.isCarriedOut(order)) {
          isSent = true;
          if (await isConfirmed(standing)) return { carriedOut: true, term: standing.snapshot.term, current };
          unanswered ??= this.#conflict(election, order);
          continue;
        }
        if (order.kind === "transfer" && current?.bar?.kind === "pause") throw new PausedError(election, current.bar.reason);
        if (!standing || standing.snapshot.term !== term || !isDue(order, standing.beneathPause ?? standing.snapshot)) {
          // Another's break of that term takes the place of ours in the record: the term is broken, as was ordered.
          const isBroken = order.kind === "break" && current?.term === term && current?.endingReason !== undefined;
          // A failover that has undone the term has undone the order, too.
          const isUndone = standing?.confirm !== undefined && standing.snapshot.term < (term ?? 0);
          const isOver = unanswered !== undefined && (isUnknown(unanswered) || isBroken) && !isUndone;
          isSent = true;
          if (isOver && standing && !(await isConfirmed(standing))) continue;
          return { carriedOut: isOver, term: term ?? 0, current };
        }
        // It has met another write, and this is what that has left.
        if (!isUnknown(unanswered)) unanswered = undefined;
        isSent = true;
        if (await standing.carryOut(order)) return { carriedOut: true, term, current };
        // Or the network has delivered it twice, and this is the second one's answer: only a look can tell.
        unanswered ??= this.#conflict(election, order);
      } catch (error) {
        if (isSent && isUnknown(error)) unanswered = error;
        else if (unanswered === undefined) throw error;
        await sleep(this.#store.clock, LOOK_MS, limits.signal);
      }
    }
    throw this.#failure(election, order, term, unanswered);
  }

  /** Waits until the term that was to end has a successor, or anybody may be it. */
  async #awaitSuccessor(
    election: string,
    term: number,
    order: Extract<Order, { kind: "transfer" }>,
    found: LeaseSnapshot | undefined,
    limits: OrderLimits,
  ): Promise<TransferOutcome> {
    const { clock } = this.#store;
    const { candidateId, timeoutMs } = order;
    let lookedMs = clock.monotonicMs();
    let patienceMs = timeoutMs + remainsMs(found);
    for (;;) {
      await sleep(clock, LOOK_MS, limits.signal);
      let standing: Standing | undefined;
      try {
        standing = await this.#store.look(election, limits);
        lookedMs = clock.monotonicMs();
      } catch (error) {
        // While the hand-over may still be under way, a later look may tell what became of it.
        if (!isStoreError(error) || limits.signal?.aborted) throw error;
        if (clock.monotonicMs() - lookedMs >= patienceMs) throw this.#failure(election, order, term, error);
        continue;
      }
      if (standing?.snapshot.term !== term) return standing?.lastHolder === candidateId ? "accepted" : "lost";
      patienceMs = timeoutMs + remainsMs(standing.snapshot);
      const { bar, endingReason } = standing.snapshot;
      if (bar?.kind === "done" || bar?.kind === "pause") return "lost";
      if (endingReason !== undefined || (bar?.kind === "transfer" && bar.candidateId !== candidateId)) return "lost";
      // What has kept the others out may end before anybody is known to lead.
      if (standing.isClaiming?.(candidateId)) continue;
      if (bar === undefined) return "expired";
    }
  }

  #conflict(election: string, { kind }: Order): StoreError {
    const { name } = this.#store;
    const message = `${name}: others kept writing the record of '${election}' during '${kind}'.`;
    return new StoreError("STORE_CONFLICT", message, { store: name, operation: kind, election, mayHaveBeenApplied: false });
  }

  #failure(election: string, { kind }: Order, term: number | undefined, unanswered: unknown): StoreError {
    const { name } = this.#store;
    const details = { store: name, operation: kind, election };
    const code = isStoreError(unanswered) ? (unanswered.code as StoreErrorCode) : "STORE_UNAVAILABLE";
    const message =
      `${name}: no reply tells what became of the ${kind} of '${election}', which may have been carried out. ` +
      `To try again, pass ifTerm: ${term}, which spares a successor.`;
    return new StoreError(code, message, { ...details, mayHaveBeenApplied: true, cause: unanswered });
  }
}

/** Reports whether what a look has found stands for good; where a failover may undo it, once it was written again. */
async function isConfirmed(standing: Standing): Promise<boolean> {
  return (await standing.confirm?.()) ?? true;
}

/** Reports whether there is anything to order. */
function isDue(order: Order, { state, bar, endingReason }: LeaseSnapshot): boolean {
  if (bar?.kind === "done") return false;
  const isBroken = endingReason !== undefined;
  if (order.kind === "transfer") return !(isBroken && bar?.kind === "lease");
  // The holder of a lease that has expired may still be writing under its fence.
  return bar !== undefined || (state === "expired" && !isBroken);
}

/**
 * Returns the longest time, from a look, for which a lease that is no longer renewed, or a hold, may keep the candidate of a
 * hand-over out.
 */
function remainsMs({ leaseDurationMs = 0, bar }: Partial<LeaseSnapshot> = {}): number {
  return bar?.kind === "hold" ? Math.max(leaseDurationMs, bar.leftMs) : leaseDurationMs;
}

/** @throws {ConfigurationError} unless it is a number of milliseconds, ten minutes at most. */
function transferTimeout(timeoutMs: number): number {
  if (duration("transferTimeoutMs", timeoutMs) <= MAX_TRANSFER_TIMEOUT_MS) return timeoutMs;
  throw new ConfigurationError(
    `transferTimeoutMs is ${timeoutMs}; it may be ${MAX_TRANSFER_TIMEOUT_MS} (ten minutes) at most, since nobody else may acquire for so long.`,
  );
}

function isStoreError(error: unknown): error is StoreError {
  return isLeaseholdError(error) && error.code.startsWith("STORE_");
}
