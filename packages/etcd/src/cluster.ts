import { TermRegressedError } from "@leasehold/core/provider";
import type { Header } from "./wire.ts";

/** Advice that follows the facts in an error about terms that have gone back. */
export const NO_HIGHER_TERM: string =
  "etcd was restored from a snapshot, or the endpoints are of two clusters. Terms are etcd's revisions, which minTerm cannot raise. " +
  "Nobody here leads until etcd is restored with 'etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted' (etcd 3.5.10 or later), or its revision has risen by itself.";

/** The cluster as this process has seen it. A revision never falls; so a term, which is a revision, never falls either. */
export class Cluster {
  #id: string | undefined;
  #revision = 0;

  /** The highest revision that any reply has shown. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Records a reply's header.
   * @param leastRevision the least revision that the header must show. For a linearizable request this is the highest revision
   * seen before it was sent. Other requests have none, because any member may answer them by itself.
   * @throws {TermRegressedError} if the revision is too low, or if another cluster answered whose revision is not above the
   * highest one seen.
   */
  saw(election: string, { clusterId, revision }: Header, leastRevision: number): void {
    const isAnother = this.#id !== undefined && this.#id !== clusterId;
    if (revision < (isAnother ? this.#revision + 1 : leastRevision)) {
      throw new TermRegressedError(election, revision, this.#revision, NO_HIGHER_TERM);
    }
    this.#id = clusterId;
    this.#revision = Math.max(this.#revision, revision);
  }
}
