import type { VirtualClock } from "@leasehold/core/testing";
import type { Transfer } from "../src/messages.ts";
import type { Answer, Envelope, Request } from "../src/simulation.ts";

/** An order to hand over, as it was sent for the first time. */
interface Asked extends Pick<Transfer, "id" | "number" | "term" | "candidateId" | "timeoutMs"> {
  readonly sentMs: number;
  /** Who has said that it keeps it. */
  readonly keepers: Set<string>;
}

/**
 * Until when nobody leads but whom an administrator has named, as a majority has promised by keeping the last order to hand over;
 * by the true time. It is told of every message.
 */
export class HandoverPromise {
  /** How often a majority has kept one. */
  kept = 0;
  readonly #time: VirtualClock;
  readonly #fastestRate: number;
  #asked: Asked | undefined;
  /** As soon as a majority keeps it. */
  #untilMs: number | undefined;
  /** Orders of which nothing is judged any more, though they may be given again. */
  readonly #void = new Set<string>();
  /** The highest number of an order to each term. */
  readonly #numbers = new Map<number, number>();
  /** The highest term that each candidate has asked votes for. */
  readonly #claimed = new Map<string, number>();
  /** RELEASE bears it. */
  #isPassedOn = false;

  /** @param fastestRate how much faster than the true time any voter's clock runs, at most. */
  constructor(time: VirtualClock, fastestRate: number) {
    this.#time = time;
    this.#fastestRate = fastestRate;
  }

  /** A message leaves, which may be carried out at any time from now on, or never. */
  sends(request: Request): void {
    const asked = this.#asked;
    if (request.kind === "TRANSFER" && request.id !== asked?.id) {
      // Which of the two counts only the voters know, until a majority has this one.
      this.forgets();
      // An order that was given before it, and has no lower number, may still arrive.
      if ((this.#numbers.get(request.term) ?? 0) >= request.number) this.#void.add(request.id);
      // So may a claim of the one that is named.
      if ((this.#claimed.get(request.candidateId) ?? 0) > request.term) this.#void.add(request.id);
      // Who has had it before counts from then.
      if (!this.#void.has(request.id)) this.#asked = { ...request, sentMs: this.#time.monotonicMs(), keepers: new Set() };
    }
    if (request.kind === "BREAK" || request.kind === "TRANSFER") {
      this.#numbers.set(request.term, Math.max(this.#numbers.get(request.term) ?? 0, request.number));
    }
    if (request.kind === "BREAK" && request.term === asked?.term) this.forgets();
    // A vote for the one that was named ends it, whether or not that one comes to lead.
    if (request.kind === "ELECT" && !request.trial) {
      this.#claimed.set(request.candidateId, Math.max(this.#claimed.get(request.candidateId) ?? 0, request.term));
      if (request.candidateId === asked?.candidateId) this.forgets();
    }
    const borne = request.kind === "RELEASE" ? request.handover : undefined;
    if (borne && borne.id === asked?.id) this.#isPassedOn = true;
    // One that its administrator's own server alone had, whose clock was ahead.
    else if (borne && asked && borne.number > asked.number) this.forgets();
  }

  /**
   * A server answers.
   *
   * @param ownKeeps whether whoever asked is a server that keeps the order as well.
   */
  answers({ to, content }: Envelope<Request>, answer: Answer, majority: number, ownKeeps: boolean): void {
    const asked = this.#asked;
    if (content.kind !== "TRANSFER" || content.id !== asked?.id || answer.kind !== "TRANSFER" || !answer.taken) return;
    const keepers = asked.keepers.add(to).size + (ownKeeps ? 1 : 0);
    if (keepers < majority || this.#untilMs !== undefined) return;
    this.kept += 1;
    this.#untilMs = this.#endSince(asked, asked.sentMs);
  }

  /** A majority has the RELEASE of that term, which left then: if it bears the order, the time counts from it. */
  released(term: number, sentMs: number): void {
    const asked = this.#asked;
    if (asked?.term === term && this.#isPassedOn && this.#untilMs !== undefined) this.#untilMs = this.#endSince(asked, sentMs);
  }

  /** Some server may have lost what it was told, and a claim that came to nothing have hidden it from it; or there are others. */
  forgets(): void {
    if (this.#asked) this.#void.add(this.#asked.id);
    this.#asked = undefined;
    this.#untilMs = undefined;
    this.#isPassedOn = false;
  }

  /** Somebody leads a term, whose first LEAD left then. Returns for whom it should have been kept. */
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
