import type { Clock, StoreMember } from "@leasehold/core/provider";
import type { VoterReply, PeerState } from "./messages.ts";

/** The reason of a server that answers, and does not vote yet or any more. */
export const TAKES_NO_PART = "it takes no part.";
/** The reason of a server that takes part, but cannot vote now. */
export const DISK_HANGS = "its disk does not end a write.";

interface Peer {
  /** The reason why the server takes no part; undefined if it takes part. */
  readonly why: string | undefined;
  readonly sinceMs: number;
}

/** The last known state of the other servers: whether each takes part, and since when. This server or another one observed it. */
export class Peers {
  readonly #clock: Clock;
  readonly #peers = new Map<string, Peer>();
  readonly #startedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
  }

  /** Records an answer of a server, or that it gave none. */
  heard(name: string, answer: VoterReply | undefined): void {
    // A server answers TELL whether it takes part or not.
    if (answer?.kind === "TELL") return;
    const why = answer ? reasonIn(answer) : "it does not answer.";
    const known = this.#peers.get(name);
    if (!known || known.why !== why) this.#peers.set(name, { why, sinceMs: this.#clock.monotonicMs() });
  }

  /** Records the servers that another server reports as absent. The reporting server may have known it for longer. */
  told(absent: readonly PeerState[]): void {
    for (const { name, why, forMs } of absent) {
      const known = this.#peers.get(name);
      const sinceMs = this.#clock.monotonicMs() - forMs;
      const isNews = known === undefined || (known.why !== undefined && sinceMs < known.sinceMs);
      if (isNews) this.#peers.set(name, { why, sinceMs });
    }
  }

  /** The servers that take no part in elections, with the reason and the time since then. */
  get absent(): readonly PeerState[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#peers].flatMap(([name, { why, sinceMs }]) =>
      why === undefined ? [] : [{ name, why, forMs: nowMs - sinceMs }],
    );
  }

  /** The state of one server. A server that was never asked counts. */
  member(name: string): StoreMember {
    const { why, sinceMs } = this.#peers.get(name) ?? { why: undefined, sinceMs: this.#startedMs };
    const forMs = this.#clock.monotonicMs() - sinceMs;
    return { name, store: "voting", counts: why === undefined, forMs, waitsFor: why };
  }
}

/** Returns why the sender of this answer does not count; undefined if it counts. */
function reasonIn(answer: VoterReply): string | undefined {
  if (answer.kind === "PING") return answer.takesPart ? undefined : (answer.why ?? TAKES_NO_PART);
  return answer.kind === "SILENT" ? TAKES_NO_PART : undefined;
}
