import type { ServiceName } from "./services.ts";

/** A library for leader election on one service. */
export interface Contender {
  /** The name in the tables. */
  readonly title: string;
  readonly service: ServiceName;
  /** The packages whose versions are printed with the results. */
  readonly packages: readonly string[];
  readonly load: () => Promise<Adapter>;
}

/** A library's documented use, in the form in which all libraries are measured. */
export interface Adapter {
  /**
   * Connects like one process that takes part in any number of elections.
   * @param host of the service, or of a proxy in front of it: `127.0.0.1:40123`
   */
  connect(host: string, leaseDurationMs: number): Promise<Competitor>;
}

export interface Competitor {
  /**
   * Competes until it is stopped, also after a loss, and leads when it wins.
   * @param changed is called when `leads` may have changed, if the library reports that
   */
  campaign(election: string, changed: () => void): CandidateRequests;
  close(): Promise<void>;
}

export interface CandidateRequests {
  /** Returns whether this process leads now, by the most favourable answer that the library gives its user at once. */
  leads(): boolean;
  /** Releases as the library recommends. Resolves once the library says that it is done. */
  stop(): Promise<void>;
}
