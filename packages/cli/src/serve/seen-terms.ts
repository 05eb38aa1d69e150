import type { Leader, PastTerm } from "@leasehold/core";

/** The most terms that are kept and shown. */
const MOST_TERMS = 50;

/** A term as this process observed it, or as the record's history shows it. It may have begun and ended before that. */
export interface SeenTerm {
  readonly term: number;
  readonly candidateId: string;
  /** The time since the term began, or was first observed. */
  readonly sinceMs: number;
  /** The time since the term ended, or its end was observed. Absent while the term lasts. */
  readonly endedMs?: number;
  /** Why it ended, where the store keeps that. */
  readonly end?: PastTerm["end"];
}

type Term = Pick<SeenTerm, "term" | "candidateId"> & { fromMs: number; toMs: number | undefined; end?: PastTerm["end"] };

/** The last terms of one election: those that this process has observed, and a few before its start where the store keeps them. */
export class SeenTerms {
  readonly #terms: Term[] = [];

  /** Records that `leader` leads or, if undefined, that nobody leads. */
  saw(leader: Pick<Leader, "term" | "candidateId"> | undefined, atMs: number): void {
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

  /**
   * Takes in the history of the election's record, once a leader was observed. Its times are by the wall clocks of other
   * processes, so each term is fitted in before the next one.
   */
  recall(history: readonly PastTerm[], nowMs: number, wallMs: number): void {
    let limitMs = Infinity;
    for (const { term, candidateId, sinceMs, untilMs = Infinity, end } of history.toReversed()) {
      const [first] = this.#terms;
      const seen = this.#terms.find((each) => each.term === term);
      const fromMs = Math.min(limitMs, (seen ?? first)?.fromMs ?? Infinity, nowMs - wallMs + sinceMs);
      if (seen) seen.end = end;
      if (seen && seen === first) seen.fromMs = fromMs;
      if (first && term < first.term) {
        const toMs = Math.max(fromMs, Math.min(first.fromMs, nowMs - wallMs + untilMs));
        this.#terms.unshift({ term, candidateId, fromMs, toMs, end });
      }
      limitMs = fromMs;
    }
  }

  at(nowMs: number): readonly SeenTerm[] {
    return this.#terms.map(({ term, candidateId, fromMs, toMs, end }) => ({
      term,
      candidateId,
      sinceMs: nowMs - fromMs,
      ...(toMs === undefined ? {} : { endedMs: nowMs - toMs }),
      ...(end === undefined ? {} : { end }),
    }));
  }
}
