import type { AbsentMember, Clock } from "@leasehold/core";
import type { Answer, PeerState } from "./messages.ts";

interface Peer {
  /** What keeps it from taking part; undefined where it does. */
  readonly why: string | undefined;
  readonly sinceMs: number;
}

/** The other servers, as this one or another one has last known them: whether they take part, and since when. */
export class Peers {
  readonly #clock: Clock;
  readonly #peers = new Map<string, Peer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A server has answered, or not. */
  heard(name: string, answer: Answer | undefined): void {
    const takesPart = answer?.kind === "PING" ? answer.takesPart : answer !== undefined && answer.kind !== "SILENT";
    const why = takesPart ? undefined : answer ? "takes no part" : "does not answer";
    const known = this.#peers.get(name);
    if (!known || known.why !== why) this.#peers.set(name, { why, sinceMs: this.#clock.monotonicMs() });
  }

  /** Another server says since when a third one has taken no part: it may know that for longer. */
  told(absent: readonly PeerState[]): void {
    for (const { name, why, forMs } of absent) {
      const known = this.#peers.get(name);
      const sinceMs = this.#clock.monotonicMs() - forMs;
      const isNews = known === undefined || (known.why !== undefined && sinceMs < known.sinceMs);
      if (isNews) this.#peers.set(name, { why, sinceMs });
    }
  }

  /** Those that take no part. */
  get absent(): readonly AbsentMember[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#peers].flatMap(([name, { why, sinceMs }]) =>
      why === undefined ? [] : [{ name, why, forMs: nowMs - sinceMs }],
    );
  }
}
