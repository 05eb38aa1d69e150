import { judge, type LedTerm } from "@leasehold/test-kit/judge";
import type { DeliveryLog } from "./witness.ts";

/**
 * Returns the time of each handler, if it had any. It ends when the handler returned, its process was found dead, or its
 * leadership was over by its last report, whichever comes first.
 */
function ledTermsOf(deliveries: readonly DeliveryLog[]): readonly LedTerm[] {
  return deliveries.flatMap(({ id, started, returnedMs = Infinity, diedMs = Infinity, validUntilMs = Infinity }) => {
    if (!started) return [];
    const toMs = Math.min(returnedMs, diedMs, validUntilMs);
    return toMs > started.atMs ? [{ candidateId: id, term: started.term, fromMs: started.atMs, toMs }] : [];
  });
}

/** Returns faults of each election's history: see {@link judge}. Also returns handlers that were told another term than their own. */
export function checkReigns(deliveries: readonly DeliveryLog[]): string[] {
  return [...Map.groupBy(deliveries, ({ election }) => election)].flatMap(([election, ofElection]) => {
    const granted = ofElection.flatMap(({ id, acquired }) => (acquired ? [{ candidateId: id, term: acquired.term }] : []));
    const wrong = ofElection
      .filter(({ started, acquired }) => started && started.term !== acquired?.term)
      .map(({ id, started, acquired }) => `${id} acquired term ${acquired?.term}, and its handler was told ${started?.term}`);
    return [...wrong, ...judge(ledTermsOf(ofElection), granted).map((fault) => `'${election}': ${fault}`)];
  });
}
