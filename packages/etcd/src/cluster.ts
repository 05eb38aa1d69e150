import { TermRegressedError } from "@leasehold/core";
import type { Header } from "./wire.ts";

/** The remedy for terms that have gone back, in the words that follow the facts. */
export const NO_HIGHER_TERM: string =
  "etcd was restored from a snapshot, or the endpoints are of two clusters. Terms are etcd's revisions, which minTerm cannot raise. " +
  "Nobody here leads until it is restored with 'etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted' (etcd 3.5.10 or later), or its revision has risen by itself.";

/** The cluster as this process has seen it: a revision never falls, and neither does a term, which is one. */
export class Cluster {
  #id: string | undefined;
  #revision = 0;

  /** The highest revision that any reply has shown. */
  get revision(): number {
    return this.#revision;
  }

  /**
   * Takes in a reply's header.
   * @param leastRevision what it must show at least: the highest revision seen before its request was sent, where the request was
   *   linearizable; nothing for one that any member may answer by itself.
   * @throws {TermRegressedError} where the cluster has gone back, or is another one and not ahead of the one before.
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
