import { StoreError, type Clock } from "@leasehold/core";
import { compareBallots, type Ballot } from "./ballot.ts";
import type { Kept } from "./kept.ts";
import type { Member } from "./member.ts";

/** What this process knows of one member with regard to one election. Only one request to it is under way at a time. */
export class Link {
  readonly member: Member;
  /** The highest promise that it is known to have made, to whomever. */
  known: Ballot | undefined;
  /** What this process's last round wrote there, where the reply has said so; no other write may go by it. */
  own: Kept | undefined;
  /** A promise to another proposer that the last round met there. */
  blockedBy: Ballot | undefined;
  /** The nonce that the member has shown last, and since when, by the monotonic clock. */
  #nonce: { readonly nonce: string; readonly sinceMs: number } | undefined;
  readonly #clock: Clock;
  #last: Promise<void> = Promise.resolve();

  constructor(member: Member, clock: Clock) {
    this.member = member;
    this.#clock = clock;
  }

  /** Whether a state shows less than the member is known to have promised: it has forgotten, if it was asked since. */
  isBehind({ promised }: Kept): boolean {
    return compareBallots(promised, this.known) < 0;
  }

  /** Takes in what the member has just shown. */
  observe({ proposal }: Kept): void {
    const nonce = proposal?.record.nonce;
    if (nonce === this.#nonce?.nonce) return;
    this.#nonce = nonce === undefined ? undefined : { nonce, sinceMs: this.#clock.monotonicMs() };
  }

  /** How long ago the member first showed a nonce that it has shown ever since; 0 where it shows another one. */
  knownForMs(nonce: string): number {
    return this.#nonce?.nonce === nonce ? this.#clock.monotonicMs() - this.#nonce.sinceMs : 0;
  }

  learn(promised: Ballot | undefined): void {
    if (compareBallots(promised, this.known) > 0) this.known = promised;
  }

  /**
   * Sends a request once the one before it has settled.
   * @param untilMs by the monotonic clock: what would begin later is not sent.
   */
  async send<T>(election: string, untilMs: number, request: (timeoutMs: number) => Promise<T>): Promise<T> {
    const before = this.#last;
    const turn = Promise.withResolvers<void>();
    this.#last = turn.promise;
    try {
      await before;
      const leftMs = untilMs - this.#clock.monotonicMs();
      if (leftMs > 0) return await request(leftMs);
    } finally {
      turn.resolve();
    }
    const store = this.member.name;
    const details = { store, operation: "wait", election, mayHaveBeenApplied: false };
    throw new StoreError("STORE_TIMEOUT", `${store} has not answered the request before this one.`, details);
  }
}
