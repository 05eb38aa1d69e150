import { barOf, type LeaseRecord } from "@leasehold/core/provider";
import type { AcceptedWrite, Bar as RecordBar } from "@leasehold/core/testing";
import { FASTEST_RATE, type Bar } from "./simulated-store.ts";

/** A write of an election's record. */
type Write = Omit<AcceptedWrite, "election">;

/** The writes from which candidates count, by the true time of acceptance, or of sending. */
interface Since {
  /** The write of the present nonce. */
  readonly nonceMs: number;
  /** A holder's last sign of life. An administrator's nonce does not count. */
  readonly aliveMs: number;
  /** The end of the last term that was released. */
  readonly leftMs: number;
}

const NEVER: Since = { nonceMs: 0, aliveMs: 0, leftMs: -Infinity };

/**
 * The candidate or group that may acquire, and the time until which nobody may, as it was requested, whatever happens to that in
 * the record.
 */
export class Turn {
  readonly #toleranceMs: number;
  /** The reservation of the present or last term for its group. */
  #reservation: RecordBar | undefined;
  /** The time of the hold that its holder has left. */
  #holdMs = 0;
  /** True if an administrator has lifted the blocks. */
  #lifted = false;
  /** The earliest times from which candidates count. */
  #since = NEVER;
  /** The same, by the time at which each of these writes was sent. */
  #sentSince = NEVER;
  /**
   * The time at which each nonce was accepted first. After a failover undid it, the network may deliver the same request again.
   * Candidates that saw the first delivery count from it, and its sender counts from when it sent both. A failover does not
   * change that.
   */
  #firstMs = new Map<string, number>();

  /** @param toleranceMs the possible error of the clock that candidates use. */
  constructor(toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
  }

  /** The earliest time from which candidates may count the age of the present nonce. */
  get nonceMs(): number {
    return this.#since.nonceMs;
  }

  /** True if an administrator has lifted the blocks after the present term. */
  get lifted(): boolean {
    return this.#lifted;
  }

  /** Returns a copy that continues by itself. */
  copy(): Turn {
    const copy = new Turn(this.#toleranceMs);
    copy.#reservation = this.#reservation;
    copy.#holdMs = this.#holdMs;
    copy.#lifted = this.#lifted;
    copy.#since = this.#since;
    copy.#sentSince = this.#sentSince;
    copy.#firstMs = this.#firstMs;
    return copy;
  }

  wrote(write: Write): void {
    const { before, record } = write;
    if (record.termId !== null && record.termId !== before?.termId) {
      this.#reservation = barOf(record, "reservation");
      this.#holdMs = 0;
      this.#lifted = false;
    } else if (record.broken) this.#lifted = true;
    // An administrator's order replaces the last leader's reservation.
    if (transferIn(record)) this.#reservation = undefined;
    if (isLeft(write)) this.#holdMs = barOf(record, "hold")?.untilMs ?? 0;
    const firstMs = this.#firstMs.get(record.nonce) ?? write.atMs;
    this.#firstMs.set(record.nonce, firstMs);
    this.#since = after(this.#since, write, firstMs);
    this.#sentSince = after(this.#sentSince, write, write.sentMs);
  }

  /**
   * The service's clock no longer tells when the record was written. A candidate takes the lesser age of this clock and the wall
   * clocks, and these count from when the writer sent it. So does the writer.
   */
  clockStepped(): void {
    this.#since = this.#sentSince;
  }

  /** Returns the block that should have prevented a new term, by the fastest of clocks. */
  barring({ before, record, atMs }: Write): Bar | undefined {
    const isWithin = (fromMs: number, forMs: number): boolean => atMs < fromMs + forMs / FASTEST_RATE - this.#toleranceMs;
    const { nonceMs, aliveMs, leftMs } = this.#since;
    if (!this.#lifted && isWithin(leftMs, this.#holdMs)) return { kind: "hold", by: "a minimum hold" };
    const transfer = before && transferIn(before);
    const to = exceptionOf(transfer);
    // The candidate's request may have been sent in time and arrive late.
    if (transfer && to === record.candidateId) return undefined;
    if (transfer && isWithin(nonceMs, transfer.untilMs ?? 0)) return { kind: "turn", by: to };
    const group = exceptionOf(this.#reservation);
    const isGroups = this.#reservation && !this.#lifted && isWithin(aliveMs, this.#reservation.untilMs ?? 0);
    return isGroups && exceptionOf(barOf(record, "reservation")) !== group ? { kind: "turn", by: `group ${group}` } : undefined;
  }
}

function transferIn(record: LeaseRecord): RecordBar | undefined {
  return barOf(record, "transfer");
}

/** Returns the candidate, or the group, that a block exempts. */
function exceptionOf(bar: RecordBar | undefined): string {
  return Object.values(bar?.except ?? {}).join();
}

/** True if the term was released. */
function isLeft({ before, record }: Write): boolean {
  return record.termId === null && before?.termId !== null;
}

function after(since: Since, write: Write, atMs: number): Since {
  const { before, record } = write;
  const keepsNonce = before?.nonce === record.nonce;
  const isOrder = transferIn(record) !== undefined && transferIn(record)?.id !== (before && transferIn(before)?.id);
  return {
    nonceMs: keepsNonce ? since.nonceMs : atMs,
    aliveMs: keepsNonce || isOrder ? since.aliveMs : atMs,
    leftMs: isLeft(write) ? atMs : since.leftMs,
  };
}
