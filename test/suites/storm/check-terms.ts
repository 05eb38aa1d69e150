import type { DeliveryLog } from "./witness.ts";

/** The time in which a handler worked and its leadership was valid. */
export interface LedTerm {
  readonly id: string;
  readonly election: string;
  readonly term: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Returns the time of each handler, if it had any. It ends when the handler returned, its process was found dead, or its
 * leadership was over by its last report, whichever comes first.
 */
export function reignsOf(deliveries: readonly DeliveryLog[]): readonly LedTerm[] {
  return deliveries.flatMap(({ id, election, started, returnedMs = Infinity, diedMs = Infinity, validUntilMs = Infinity }) => {
    if (!started) return [];
    const ledTerm = { id, election, term: started.term, fromMs: started.atMs, toMs: Math.min(returnedMs, diedMs, validUntilMs) };
    return ledTerm.toMs > ledTerm.fromMs ? [ledTerm] : [];
  });
}

/** Returns two handlers of an election that worked at once in valid leaderships, terms that two had, and terms that fell. */
export function checkReigns(deliveries: readonly DeliveryLog[]): string[] {
  return [...Map.groupBy(deliveries, ({ election }) => election).values()].flatMap((ofElection) => [
    ...overlaps(reignsOf(ofElection)),
    ...badTerms(ofElection),
  ]);
}

function overlaps(ledTerms: readonly LedTerm[]): string[] {
  return ledTerms.flatMap((one, at) =>
    ledTerms.slice(at + 1).flatMap((other) => {
      const bothMs = Math.min(one.toMs, other.toMs) - Math.max(one.fromMs, other.fromMs);
      if (bothMs <= 0) return [];
      return [`${named(one)} and ${named(other)} led '${one.election}' at once for ${bothMs.toFixed(1)} ms`];
    }),
  );
}

function badTerms(deliveries: readonly DeliveryLog[]): string[] {
  const wrong = deliveries
    .filter(({ started, acquired }) => started && started.term !== acquired?.term)
    .map(({ id, started, acquired }) => `${id} acquired term ${acquired?.term}, and its handler was told ${started?.term}`);
  // Use the order in which handlers began. A process that acquires and dies, or that starts after its lease, has no effect that
  // others could observe.
  const ledTerms = reignsOf(deliveries).toSorted((one, other) => one.fromMs - other.fromMs);
  const fallen = ledTerms.flatMap((ledTerm, at) => {
    const before = ledTerms[at - 1];
    return before && before.term > ledTerm.term ? [`${named(ledTerm)} came after ${named(before)} in '${ledTerm.election}'`] : [];
  });
  const byTerm = Map.groupBy(
    deliveries.filter(({ acquired }) => acquired),
    ({ acquired }) => acquired?.term ?? 0,
  );
  const shared = [...byTerm]
    .filter(([, same]) => same.length > 1)
    .map(([term, same]) => `${same.map(({ id }) => id).join(" and ")} had the same term ${term} of '${same[0]!.election}'`);
  return [...wrong, ...fallen, ...shared];
}

function named({ id, term }: LedTerm): string {
  return `${id} in term ${term}`;
}
