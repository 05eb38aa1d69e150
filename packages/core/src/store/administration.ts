import { sleep, type Clock } from "../time/clock.ts";
import { ConfigurationError, isStoreError, isUnknown, PausedError, type StoreError } from "../reporting/errors.ts";
import type { LeaseSnapshot } from "./lease-snapshot.ts";
import type { RequestLimits } from "./lease-store.ts";
import { conflict, outcomeUnknown } from "./failed-request.ts";
import type { BreakOptions, BreakOutcome, TransferOptions, TransferOutcome } from "./admin-calls.ts";
import { checkName, checkReason, checkTerm } from "./names.ts";
import { DEFAULT_REQUEST_TIMEOUT_MS, duration } from "./lease-limits.ts";

const DEFAULT_TRANSFER_TIMEOUT_MS = 30_000;
/** A named candidate that never acquires must not block an election for longer. */
const MAX_TRANSFER_TIMEOUT_MS = 600_000;
const TRIES = 4;
/** The wait between two reads of a transfer, and after a failed request of an order. */
const POLL_MS = 500;

export type Order =
  | { readonly kind: "break"; readonly id: string; readonly reason: string; readonly immediate: boolean }
  | { readonly kind: "transfer"; readonly id: string; readonly candidateId: string; readonly timeoutMs: number };

/** Limits of an administrator's call. The signal ends reads and waits. It does not cancel a write that was sent. */
export interface OrderLimits extends RequestLimits {
  readonly signal?: AbortSignal | undefined;
}

export interface ElectionState {
  readonly snapshot: LeaseSnapshot;
  /** The snapshot as it would be without the pause, if there is one. It decides about a break, which lifts no pause. */
  readonly beneathPause?: LeaseSnapshot | undefined;
  /** The candidate that leads, or led last. */
  readonly lastHolder: string | undefined;
  isCarriedOut(order: Order): boolean;
  /** Reports whether a candidate may be about to lead. Only for stores where an acquisition takes more than one step. */
  isClaiming?(candidateId: string): boolean;
  /** Writes the order, unless somebody has written since this read. Returns whether it was written. */
  carryOut(order: Order): Promise<boolean>;
  /** Writes the record again, unchanged, where a failover may undo what a read has found. Returns whether it was written. */
  confirm?(): Promise<boolean>;
}

export interface AdminStore {
  readonly name: string;
  readonly clock: Clock;
  read(election: string, limits: OrderLimits): Promise<ElectionState | undefined>;
}

interface OrderResult {
  /** True if the order is in the store. After a lost reply also true if the term has ended or was broken since. */
  readonly carriedOut: boolean;
  readonly term: number;
  readonly current: LeaseSnapshot | undefined;
}

/** Breaks and transfers on any store. Each is an order to one term, and never affects the term after it. */
export class Administration {
  readonly #store: AdminStore;

  constructor(store: AdminStore) {
    this.#store = store;
  }

  async break(election: string, options: BreakOptions): Promise<BreakOutcome> {
    checkName("election", election);
    const { reason, ifTerm, immediate = false } = options;
    checkReason(reason, "say why it is broken");
    checkTerm("ifTerm", ifTerm);
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS };
    const order = { kind: "break", id: this.#store.clock.randomUuid(), reason, immediate } as const;
    const { carriedOut, term, current } = await this.#execute(election, order, ifTerm, limits);
    return carriedOut ? { broken: true, term } : { broken: false, current };
  }

  async transfer(election: string, candidateId: string, options: TransferOptions = {}): Promise<TransferOutcome> {
    checkName("election", election);
    checkName("candidateId", candidateId);
    checkTerm("ifTerm", options.ifTerm);
    const timeoutMs = transferTimeout(options.transferTimeoutMs ?? DEFAULT_TRANSFER_TIMEOUT_MS);
    const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS, signal: options.signal };
    const order = { kind: "transfer", id: this.#store.clock.randomUuid(), candidateId, timeoutMs } as const;
    const { carriedOut, term, current } = await this.#execute(election, order, options.ifTerm, limits);
    if (!carriedOut) return "lost";
    return await this.#awaitSuccessor(election, term, order, current, limits);
  }

  /** Gives an order to one term only. After a lost reply it reads, and repeats the order with the same id. */
  async #execute(election: string, order: Order, ifTerm: number | undefined, limits: OrderLimits): Promise<OrderResult> {
    let term = ifTerm;
    let unanswered: unknown;
    for (let tries = 0; tries < TRIES; tries += 1) {
      let isSent = false;
      try {
        const state = await this.#store.read(election, limits);
        const current = state?.snapshot;
        term ??= current?.term;
        if (state?.isCarriedOut(order)) {
          isSent = true;
          if (await isConfirmed(state)) return { carriedOut: true, term: state.snapshot.term, current };
          unanswered ??= conflict(this.#store.name, election, order.kind);
          continue;
        }
        if (order.kind === "transfer" && current?.bar?.kind === "pause") throw new PausedError(election, current.bar.reason);
        if (!state || state.snapshot.term !== term || !isDue(order, state.beneathPause ?? state.snapshot)) {
          // Another break of that term replaces ours in the record. The term is broken, as ordered.
          const isBroken = order.kind === "break" && current?.term === term && current?.endingReason !== undefined;
          // A failover that has undone the term has also undone the order.
          const isUndone = state?.confirm !== undefined && state.snapshot.term < (term ?? 0);
          const isOver = unanswered !== undefined && (isUnknown(unanswered) || isBroken) && !isUndone;
          if (isOver && state && !(await isConfirmed(state))) continue;
          return { carriedOut: isOver, term: term ?? 0, current };
        }
        // An earlier try met another write. This read shows the result of that write, so the conflict is over.
        if (!isUnknown(unanswered)) unanswered = undefined;
        isSent = true;
        if (await state.carryOut(order)) return { carriedOut: true, term, current };
        // The network may have delivered our write twice, and this may be the reply to the second copy. Only a read can tell.
        unanswered ??= conflict(this.#store.name, election, order.kind);
      } catch (error) {
        if (isSent && isUnknown(error)) unanswered = error;
        else if (unanswered === undefined) throw error;
        await sleep(this.#store.clock, POLL_MS, limits.signal);
      }
    }
    throw this.#failure(election, order, term, unanswered);
  }

  async #awaitSuccessor(
    election: string,
    term: number,
    order: Extract<Order, { kind: "transfer" }>,
    found: LeaseSnapshot | undefined,
    limits: OrderLimits,
  ): Promise<TransferOutcome> {
    const { clock } = this.#store;
    const { candidateId, timeoutMs } = order;
    let answeredMs = clock.monotonicMs();
    let longestMs = timeoutMs + remainsMs(found);
    for (;;) {
      await sleep(clock, POLL_MS, limits.signal);
      let state: ElectionState | undefined;
      try {
        state = await this.#store.read(election, limits);
        answeredMs = clock.monotonicMs();
      } catch (error) {
        // While the transfer may still be under way, a later read may show its outcome.
        if (!isStoreError(error) || limits.signal?.aborted) throw error;
        if (clock.monotonicMs() - answeredMs >= longestMs) throw this.#failure(election, order, term, error);
        continue;
      }
      if (state?.snapshot.term !== term) return state?.lastHolder === candidateId ? "accepted" : "lost";
      longestMs = timeoutMs + remainsMs(state.snapshot);
      const { bar, endingReason } = state.snapshot;
      if (bar?.kind === "done" || bar?.kind === "pause") return "lost";
      if (endingReason !== undefined || (bar?.kind === "transfer" && bar.candidateId !== candidateId)) return "lost";
      // The blocker may have ended while the candidate is still in the middle of its acquisition.
      if (state.isClaiming?.(candidateId)) continue;
      if (bar === undefined) return "expired";
    }
  }

  #failure(election: string, { kind }: Order, term: number | undefined, unanswered: unknown): StoreError {
    const code = isStoreError(unanswered) ? unanswered.code : "STORE_UNAVAILABLE";
    const advice = `To try again, pass ifTerm: ${term}, which spares a successor.`;
    return outcomeUnknown(code, { store: this.#store.name, operation: kind, election }, advice, unanswered);
  }
}

/** Reports whether the result of a read is final. If a failover may undo the record, writes it again first. */
async function isConfirmed(state: ElectionState): Promise<boolean> {
  return (await state.confirm?.()) ?? true;
}

function isDue(order: Order, { state, bar, endingReason }: LeaseSnapshot): boolean {
  if (bar?.kind === "done") return false;
  const isBroken = endingReason !== undefined;
  if (order.kind === "transfer") return !(isBroken && bar?.kind === "lease");
  // An expired lease can be broken, because its former holder may still write under its fence.
  return bar !== undefined || (state === "expired" && !isBroken);
}

/** Returns the longest time for which a lease that is no longer renewed, or a hold, can block the candidate of a transfer. */
function remainsMs({ leaseDurationMs = 0, bar }: Partial<LeaseSnapshot> = {}): number {
  return bar?.kind === "hold" ? Math.max(leaseDurationMs, bar.leftMs) : leaseDurationMs;
}

function transferTimeout(timeoutMs: number): number {
  if (duration("transferTimeoutMs", timeoutMs) <= MAX_TRANSFER_TIMEOUT_MS) return timeoutMs;
  throw new ConfigurationError(
    `transferTimeoutMs is ${timeoutMs}; it may be ${MAX_TRANSFER_TIMEOUT_MS} (ten minutes) at most, because nobody else may acquire during that time.`,
  );
}
