import { StoreError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { compareBallots, type Ballot } from "./ballot.ts";
import type { MemberState } from "./member-state.ts";
import type { Member } from "./member.ts";

/**
 * Holds what this process knows of one member for one election, and sends its requests. Only one request is under way at a time.
 */
export class MemberSession {
  readonly member: Member;
  /** The highest promise that the member is known to have made, to any proposer. */
  known: Ballot | undefined;
  /**
   * The state that this process's last round wrote to the member, if the reply has confirmed it. Only the next round may use this
   * state as the condition of a write.
   */
  own: MemberState | undefined;
  /** The promise above the round's own ballot that the last attempt to catch this member up has found on it. */
  blockedBy: Ballot | undefined;
  /** The nonce that the member showed last, and since when, by the monotonic clock. */
  #nonce: { readonly nonce: string; readonly sinceMs: number } | undefined;
  readonly #clock: Clock;
  #last: Promise<void> = Promise.resolve();

  constructor(member: Member, clock: Clock) {
    this.member = member;
    this.#clock = clock;
  }

  /**
   * Reports whether a state shows a lower promise than the member is known to have made. If the state was read after that
   * promise, the member has forgotten.
   */
  isBehind({ promised }: MemberState): boolean {
    return compareBallots(promised, this.known) < 0;
  }

  /** Records the nonce that the member has just shown. */
  observe({ proposal }: MemberState): void {
    const nonce = proposal?.record.nonce;
    if (nonce === this.#nonce?.nonce) return;
    this.#nonce = nonce === undefined ? undefined : { nonce, sinceMs: this.#clock.monotonicMs() };
  }

  /** Returns how long ago, in milliseconds, the member first showed the nonce that it still shows; 0 if it shows another one. */
  knownForMs(nonce: string): number {
    return this.#nonce?.nonce === nonce ? this.#clock.monotonicMs() - this.#nonce.sinceMs : 0;
  }

  learn(promised: Ballot | undefined): void {
    if (compareBallots(promised, this.known) > 0) this.known = promised;
  }

  /**
   * Sends a request once the previous one has settled.
   * @param untilMs by the monotonic clock; a request that would begin later is not sent.
   * @throws {StoreError} `STORE_TIMEOUT` if the request is not sent.
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
