import type { HeldServiceName } from "../held-services.ts";
import type { ServiceName } from "./services.ts";

/** A library that elects, on one service. */
export interface Contender {
  /** As the tables call it. */
  readonly title: string;
  readonly service: ServiceName;
  /** The packages whose versions say what was measured. */
  readonly packages: readonly string[];
  /** The service whose SDK it uses, which is measured without it as well. */
  readonly sdk?: HeldServiceName;
  readonly load: () => Promise<Adapter>;
}

/** A library's documented use, in the form that all are measured in. */
export interface Adapter {
  /**
   * Connects as one process does that takes part in any number of elections.
   * @param host of the service, or of a proxy in front of it: `127.0.0.1:40123`
   */
  connect(host: string, leaseDurationMs: number): Promise<Competitor>;
}

export interface Competitor {
  /**
   * Competes, and leads when it wins, until it is stopped; also again after it has lost.
   * @param changed is called when `leads` may have changed, where the library tells of it
   */
  campaign(election: string, changed: () => void): Candidacy;
  close(): Promise<void>;
}

export interface Candidacy {
  /** The most favourable answer that the library can give its user at once: whether this process leads now. */
  leads(): boolean;
  /** Gives up what it has as the library would have it; resolves once the library says so. */
  stop(): Promise<void>;
}
