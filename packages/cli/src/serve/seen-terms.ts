import type { Leader } from "@leasehold/core";

/** So many terms are shown. */
const MOST_TERMS = 50;

/** A term as this process saw it: it may have begun before, and ended before. */
export interface SeenTerm {
  readonly term: number;
  readonly candidateId: string;
  /** How long ago it was first seen. */
  readonly sinceMs: number;
  /** How long ago it was seen to be over; absent while it lasts. */
  readonly endedMs?: number;
}

/** The terms of one election that were seen since this process started, the last ones. */
export class SeenTerms {
  readonly #terms: Array<{ term: number; candidateId: string; fromMs: number; toMs: number | undefined }> = [];

  /** Somebody leads, or nobody does. */
  saw(leader: Leader | undefined, atMs: number): void {
    const last = this.#terms.at(-1);
    if (last && leader && last.term === leader.term) {
      // Its leader was not known to be one, for a while.
      last.toMs = undefined;
      return;
    }
    if (last) last.toMs ??= atMs;
    if (!leader) return;
    this.#terms.push({ term: leader.term, candidateId: leader.candidateId, fromMs: atMs, toMs: undefined });
    if (this.#terms.length > MOST_TERMS) this.#terms.shift();
  }

  at(nowMs: number): readonly SeenTerm[] {
    return this.#terms.map(({ term, candidateId, fromMs, toMs }) => ({
      term,
      candidateId,
      sinceMs: nowMs - fromMs,
      ...(toMs === undefined ? {} : { endedMs: nowMs - toMs }),
    }));
  }
}
