import type { LeaseRecord } from "@leasehold/core/provider";
import { FASTEST_RATE, type Bar } from "./simulated-store.ts";

/** A write of an election's record, and when it was accepted, by the true time. */
export interface Write {
  readonly before: LeaseRecord | undefined;
  readonly record: LeaseRecord;
  readonly atMs: number;
}

/** Whose turn it is on a record, and until when it is nobody's, as it was asked for: whatever becomes of that in the record. */
export class Turn {
  readonly #toleranceMs: number;
  /** The reservation of the present or last term for its group. */
  #reservation: LeaseRecord["reservation"];
  /** Until when its holder has left it held back, by the fastest of clocks. */
  #heldUntilMs = -Infinity;
  /** An administrator has lifted what bars. */
  #lifted = false;
  #nonceAtMs = 0;
  /** When a holder has given its last sign of life: an administrator's nonce is none. */
  #aliveAtMs = 0;

  /** @param toleranceMs how far the clock may be off by which candidates tell. */
  constructor(toleranceMs: number) {
    this.#toleranceMs = toleranceMs;
  }

  /** When the present nonce was written, by the true time. */
  get nonceAtMs(): number {
    return this.#nonceAtMs;
  }

  /** An administrator has lifted what would bar after the present term. */
  get lifted(): boolean {
    return this.#lifted;
  }

  wrote({ before, record, atMs }: Write): void {
    const isNew = record.termId !== null && record.termId !== before?.termId;
    const keepsNonce = before?.nonce === record.nonce;
    if (isNew) {
      this.#reservation = record.reservation;
      this.#heldUntilMs = -Infinity;
      this.#lifted = false;
    } else if (record.broken) this.#lifted = true;
    const isLeft = record.termId === null && before?.termId !== null;
    if (isLeft) this.#heldUntilMs = atMs + (record.holdMs ?? 0) / FASTEST_RATE - this.#toleranceMs;
    if (keepsNonce) return;
    this.#nonceAtMs = atMs;
    if (record.transfer === undefined || record.transfer.id === before?.transfer?.id) this.#aliveAtMs = atMs;
  }

  /** What should have kept a new term from being given out, by the fastest of clocks. */
  barring({ before, record, atMs }: Write): Bar | undefined {
    const isWithin = (fromMs: number, forMs: number): boolean => atMs < fromMs + forMs / FASTEST_RATE - this.#toleranceMs;
    const { transfer, termId, leaseDurationMs = 0 } = before ?? {};
    if (!this.#lifted && atMs < this.#heldUntilMs) return { kind: "hold", by: "a minimum hold" };
    // From the release on, or, if the lease was left to expire, from its end.
    const freeAtMs = this.#nonceAtMs + (termId ? leaseDurationMs / FASTEST_RATE : 0);
    // What its candidate sent in time may arrive late.
    if (transfer?.candidateId === record.candidateId) return undefined;
    if (transfer && isWithin(freeAtMs, transfer.timeoutMs)) return { kind: "turn", by: transfer.candidateId };
    const { group, durationMs = 0 } = this.#reservation ?? {};
    const isGroups = group !== undefined && !this.#lifted && isWithin(this.#aliveAtMs, durationMs);
    return isGroups && record.reservation?.group !== group ? { kind: "turn", by: `group ${group}` } : undefined;
  }
}
