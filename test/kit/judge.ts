/** A span of time, in milliseconds of a clock that all candidates share. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A time in which one candidate believed that it was the leader. */
export interface LedTerm extends Span {
  readonly candidateId: string;
  readonly term: number;
}

type Granted = Pick<LedTerm, "candidateId" | "term">;

/** Returns for how long, between two instants, two of the spans held at once: the sum over all pairs. */
export function overlapMs(spans: readonly Span[], fromMs: number = -Infinity, toMs: number = Infinity): number {
  const overlaps = spans.flatMap((one, at) => spans.slice(at + 1).map((other) => bothMs(one, other, { fromMs, toMs })));
  return overlaps.reduce((sum, ms) => sum + Math.max(ms, 0), 0);
}

/**
 * Judges the history of one election, and returns its faults as texts. A fault is two terms that were valid at the same time, by
 * however little. A term that falls and a term of two candidates are faults, too.
 *
 * @param granted everybody who was given a term, also without leading in it. @defaultValue those who led
 */
export function judge(ledTerms: readonly LedTerm[], granted: readonly Granted[] = ledTerms): string[] {
  const inOrder = ledTerms.toSorted((one, other) => one.fromMs - other.fromMs);
  const atOnce = inOrder.flatMap((one, at) =>
    inOrder.slice(at + 1).flatMap((other) => {
      const ms = bothMs(one, other);
      return ms > 0 ? [`${named(one)} and ${named(other)} were valid at once for ${ms.toFixed(1)} ms`] : [];
    }),
  );
  const fallen = inOrder.flatMap((ledTerm, at) => {
    const before = inOrder[at - 1];
    return before && before.term > ledTerm.term ? [`${named(ledTerm)} came after ${named(before)}`] : [];
  });
  const shared = [...Map.groupBy(granted, ({ term }) => term).values()].flatMap((holders) =>
    holders.length > 1 ? [`${holders.map(named).join(" and ")} had the same term`] : [],
  );
  return [...atOnce, ...fallen, ...shared];
}

function bothMs(...spans: readonly Span[]): number {
  return Math.min(...spans.map(({ toMs }) => toMs)) - Math.max(...spans.map(({ fromMs }) => fromMs));
}

function named({ candidateId, term }: Granted): string {
  return `${candidateId} in term ${term}`;
}
