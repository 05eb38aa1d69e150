import { barOf, type Bar as RecordBar, type LeaseRecord } from "@leasehold/core/provider";
import type { AcceptedWrite } from "@leasehold/core/testing";
import { FASTEST_RATE, type Bar } from "./simulated-store.ts";

/** A write of an election's record. */
type Write = Omit<AcceptedWrite, "election">;

/** The writes that candidates count from, each by when it was accepted, or by when it was sent; by the true time. */
interface Since {
  /** The one of the present nonce. */
  readonly nonceMs: number;
  /** A holder's last sign of life: an administrator's nonce is none. */
  readonly aliveMs: number;
  /** The end of the last term that was left. */
  readonly leftMs: number;
}

const NEVER: Since = { nonceMs: 0, aliveMs: 0, leftMs: -Infinity };

/** Whose turn it is on a record, and until when it is nobody's, as it was asked for: whatever becomes of that in the record. */
export class Turn {
  readonly #toleranceMs: number;
  /** The reservation of the present or last term for its group. */
  #reservation: RecordBar | undefined;
  /** For how long its holder has left it held back. */
  #holdMs = 0;
  /** An administrator has lifted what bars. */
  #lifted = false;
  /** What candidates count from, at the earliest. */
  #since = NEVER;
  /** The same, by when each of these writes was sent. */
  #sentSince = NEVER;
  /**
   * When each nonce was accepted first. After a failover undid it, the network may deliver the same request again. Candidates
   * that saw the first delivery count from it, and its sender counts from when it sent both. No failover makes them forget it.
   */
  #firstMs = new Map<string, number>();

  /** @param toleranceMs how far the clock may be off by which candidates tell. */
  constructor(toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
  }

  /** Since when candidates may count the age of the present nonce, at the earliest. */
  get nonceMs(): number {
    return this.#since.nonceMs;
  }

  /** An administrator has lifted what would bar after the present term. */
  get lifted(): boolean {
    return this.#lifted;
  }

  /** Returns one that knows what this one knows, and goes on by itself. */
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
    // An administrator's order takes the place of what the last leader has reserved.
    if (transferIn(record)) this.#reservation = undefined;
    if (isLeft(write)) this.#holdMs = barOf(record, "hold")?.untilMs ?? 0;
    const firstMs = this.#firstMs.get(record.nonce) ?? write.atMs;
    this.#firstMs.set(record.nonce, firstMs);
    this.#since = after(this.#since, write, firstMs);
    this.#sentSince = after(this.#sentSince, write, write.sentMs);
  }

  /**
   * The service's clock no longer tells when the record was written. A candidate takes the lesser of what this clock and
   * the wall clocks tell, and these count from when the writer sent it. So does the writer.
   */
  clockStepped(): void {
    this.#since = this.#sentSince;
  }

  /** What should have kept a new term from being given out, by the fastest of clocks. */
  barring({ before, record, atMs }: Write): Bar | undefined {
    const isWithin = (fromMs: number, forMs: number): boolean => atMs < fromMs + forMs / FASTEST_RATE - this.#toleranceMs;
    const { nonceMs, aliveMs, leftMs } = this.#since;
    if (!this.#lifted && isWithin(leftMs, this.#holdMs)) return { kind: "hold", by: "a minimum hold" };
    const transfer = before && transferIn(before);
    const to = exceptionOf(transfer);
    // What its candidate sent in time may arrive late.
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

/** The candidate, or the group, that a bar makes an exception of. */
function exceptionOf(bar: RecordBar | undefined): string {
  return Object.values(bar?.except ?? {}).join();
}

/** The term has been left, and is nobody's any more. */
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
