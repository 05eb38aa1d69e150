import type { Leader } from "@leasehold/core";

/** The most terms that are kept and shown. */
const MOST_TERMS = 50;

/** A term as this process observed it. The term may have begun and ended before that. */
export interface SeenTerm {
  readonly term: number;
  readonly candidateId: string;
  /** How long ago this process first observed the term. */
  readonly sinceMs: number;
  /** How long ago this process observed the end of the term. Absent while the term lasts. */
  readonly endedMs?: number;
}

/** The last terms of one election that this process has observed since its start. */
export class SeenTerms {
  readonly #terms: Array<{ term: number; candidateId: string; fromMs: number; toMs: number | undefined }> = [];

  /** Records that `leader` leads or, if undefined, that nobody leads. */
  saw(leader: Leader | undefined, atMs: number): void {
    const last = this.#terms.at(-1);
    if (last && leader && last.term === leader.term) {
      // The same term goes on. For a while it was unknown who leads.
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
