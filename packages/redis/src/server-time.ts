import { ExpiringMap, type Clock } from "@leasehold/core/provider";

/** A time by the clock of one server, as a script takes it. */
export interface ServerDeadline {
  /** The server's name; {@link UNKNOWN_SERVER} before its first answer. */
  readonly server: string;
  /** Microseconds since the Unix epoch, as text. */
  readonly deadlineUs: string;
}

/** A name that no server has. A write for this name changes nothing, and the refusal contains the server's time. */
const UNKNOWN_SERVER = "-";

/** A time that a server has returned, and the instant at which the request for it was sent. */
interface Told {
  readonly server: string;
  readonly serverUs: number;
  readonly sentMs: number;
}

/**
 * The last times that servers have returned. A write carries the time by which its server must have it. A write that a network
 * or a client library held back for longer is refused by the server itself.
 *
 * Elapsed time counts by the monotonic clock. The monotonic clock may stop during a suspension, and a server's clock may step.
 * Then a deadline is too early, and the refusal contains the right time.
 */
export class ServerTime {
  readonly #clock: Clock;
  /** The last time for each key. On a cluster, keys are on different servers. */
  readonly #told: ExpiringMap<Told>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#told = new ExpiringMap(clock);
  }

  /** @param sentMs the instant at which the request was sent, by the monotonic clock. */
  learn(key: string, server: string, serverUs: number, sentMs: number): void {
    this.#told.set(key, { server, serverUs, sentMs });
  }

  /** Returns the time in `ms` from now, by the clock of the key's server. It is later by the time of one request at most. */
  deadline(key: string, ms: number): ServerDeadline {
    const told = this.#told.get(key);
    if (!told) return { server: UNKNOWN_SERVER, deadlineUs: "0" };
    const elapsedMs = this.#clock.monotonicMs() - told.sentMs;
    return { server: told.server, deadlineUs: (told.serverUs + (elapsedMs + ms) * 1_000).toFixed(0) };
  }
}
