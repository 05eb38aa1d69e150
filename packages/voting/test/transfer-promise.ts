import type { VirtualClock } from "@leasehold/core/testing";
import type { Transfer } from "../src/messages.ts";
import type { VoterReply, Envelope, Request } from "../src/simulation.ts";

/** A transfer order, as it was sent for the first time. */
interface Asked extends Pick<Transfer, "id" | "term" | "candidateId" | "timeoutMs"> {
  readonly sentMs: number;
  /** The servers that have said that they keep the order. */
  readonly keepers: Set<string>;
}

/**
 * The time, in true time, until which only the named candidate may lead. A majority has promised it by keeping the last transfer
 * order. The class sees every message.
 */
export class TransferPromise {
  /** The number of orders that a majority has kept. */
  kept = 0;
  readonly #time: VirtualClock;
  readonly #fastestRate: number;
  #asked: Asked | undefined;
  /** Set once a majority keeps the order. */
  #untilMs: number | undefined;
  /** Orders that are not judged any more, although they may be given again. */
  readonly #void = new Set<string>();
  /** The terms to which an order was sent. */
  readonly #ordered = new Set<number>();
  /** The highest term for which each candidate has asked votes. */
  readonly #claimed = new Map<string, number>();
  /** A RELEASE has carried the order. */
  #isPassedOn = false;

  /** @param fastestRate the highest rate of any voter's clock, relative to the true time. */
  constructor(time: VirtualClock, fastestRate: number) {
    this.#time = time;
    this.#fastestRate = fastestRate;
  }

  /** Records that a message is sent. It may be carried out at any time from now on, or never. */
  sends(request: Request): void {
    const asked = this.#asked;
    if (request.kind === "TRANSFER" && request.id !== asked?.id) {
      // The last order to arrive counts.
      this.forgets();
      // An earlier order may still arrive.
      if (this.#ordered.has(request.term)) this.#void.add(request.id);
      // A claim of the named candidate may still arrive as well.
      if ((this.#claimed.get(request.candidateId) ?? 0) > request.term) this.#void.add(request.id);
      // A voter that already had the order counts from then.
      if (!this.#void.has(request.id)) this.#asked = { ...request, sentMs: this.#time.monotonicMs(), keepers: new Set() };
    }
    if (request.kind === "BREAK" || request.kind === "TRANSFER") this.#ordered.add(request.term);
    if (request.kind === "BREAK" && request.term === asked?.term) this.forgets();
    // A vote for the named candidate ends the order, even if this candidate never leads.
    if (request.kind === "ELECT" && !request.trial) {
      this.#claimed.set(request.candidateId, Math.max(this.#claimed.get(request.candidateId) ?? 0, request.term));
      if (request.candidateId === asked?.candidateId) this.forgets();
    }
    const borne = request.kind === "RELEASE" ? request.transfer : undefined;
    if (borne && borne.id === asked?.id) this.#isPassedOn = true;
    // This order reached only its administrator's own server.
    else if (borne) this.forgets();
  }

  /**
   * Records a server's answer.
   *
   * @param ownKeeps the asking server keeps the order as well.
   */
  answers({ to, content }: Envelope<Request>, answer: VoterReply, majority: number, ownKeeps: boolean): void {
    const asked = this.#asked;
    if (content.kind !== "TRANSFER" || content.id !== asked?.id || answer.kind !== "TRANSFER" || !answer.taken) return;
    const keepers = asked.keepers.add(to).size + (ownKeeps ? 1 : 0);
    if (keepers < majority || this.#untilMs !== undefined) return;
    this.kept += 1;
    this.#untilMs = this.#endSince(asked, asked.sentMs);
  }

  /** A majority has the RELEASE of that term, sent at `sentMs`. If it carries the order, the time counts from then. */
  released(term: number, sentMs: number): void {
    const asked = this.#asked;
    if (asked?.term === term && this.#isPassedOn && this.#untilMs !== undefined) this.#untilMs = this.#endSince(asked, sentMs);
  }

  /** Stops judging the order. A server may have lost it, a failed claim may have hidden it, or there is another order. */
  forgets(): void {
    if (this.#asked) this.#void.add(this.#asked.id);
    this.#asked = undefined;
    this.#untilMs = undefined;
    this.#isPassedOn = false;
  }

  /** Records a leader, whose first LEAD was sent at `sentMs`. Returns the candidate for whom the term had to be kept. */
  leads(term: number, candidateId: string, sentMs: number): string | undefined {
    const asked = this.#asked;
    if (!asked || term <= asked.term) return undefined;
    const isKept = candidateId !== asked.candidateId && this.#untilMs !== undefined && sentMs < this.#untilMs;
    this.forgets();
    return isKept ? asked.candidateId : undefined;
  }

  #endSince({ timeoutMs }: Asked, sinceMs: number): number {
    return sinceMs + timeoutMs / this.#fastestRate;
  }
}
