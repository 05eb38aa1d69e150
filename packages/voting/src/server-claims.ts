import type { AcquireRequest } from "@leasehold/core/provider";
import { claim, type ClaimOutcome } from "./claim.ts";
import type { LeaderStatus, Vote } from "./messages.ts";
import type { Server } from "./server.ts";

/**
 * With more elections than this, the outcomes of last claims are forgotten. They only tell when to claim again, and which
 * candidate is preferred.
 */
const MOST_CLAIMS = 1_000;
/**
 * After a lost claim, the wait is at least this share of the time that the claim took. A random part of the claim's time is
 * added.
 */
const SHORTEST_PAUSE = 0.5;

/** The claims of one server. Each election has one claim at a time, because two would take each other's votes. */
export class ServerClaims {
  readonly #server: Server;
  readonly #claiming = new Set<string>();
  readonly #wakers = new Set<(election: string) => void>();
  /**
   * The elections in which this server's last claim has failed without a refusal. Voters prefer others until this server wins.
   */
  readonly #failed = new Set<string>();
  /** The earliest time for the next claim, by the votes of the last one. */
  readonly #nextMs = new Map<string, number>();

  constructor(server: Server) {
    this.#server = server;
  }

  isUnderWay(election: string): boolean {
    return this.#claiming.has(election);
  }

  /** The time until the next claim, by the votes of the last one. At most zero if it may be made now. */
  waitMs(election: string): number {
    return (this.#nextMs.get(election) ?? 0) - this.#server.clock.monotonicMs();
  }

  /** Calls `waker` when a claim of this server has won. Returns a function that ends this. */
  onWon(waker: (election: string) => void): () => void {
    this.#wakers.add(waker);
    return () => void this.#wakers.delete(waker);
  }

  /** Claims an election in which no claim of this server is under way. Throws what {@link claim} throws. */
  async claim(request: AcquireRequest): Promise<ClaimOutcome> {
    const { election } = request;
    const { clock } = this.#server;
    this.#claiming.add(election);
    const hadFailed = this.#failed.delete(election);
    const sentMs = clock.monotonicMs();
    let hasFailed = true;
    let hasWon = false;
    try {
      const outcome = await claim(this.#server, request, hadFailed);
      hasWon = outcome.won;
      hasFailed = !outcome.won && outcome.hasFailed;
      if (outcome.won) this.#nextMs.delete(election);
      else this.#pauses(election, outcome.votes, clock.monotonicMs() - sentMs);
      return outcome;
    } finally {
      if (this.#failed.size > MOST_CLAIMS) this.#failed.clear();
      if (hasFailed) this.#failed.add(election);
      // A won claim wakes the other candidates of this process, after the winner has heard of its win. A lost claim wakes none,
      // because its own campaign would begin again at once. It would then skip the random wait, which keeps two voters from
      // refusing each other for ever.
      clock.setTimer(() => {
        this.#claiming.delete(election);
        if (hasWon) this.#wakers.forEach((wake) => wake(election));
      }, 0);
    }
  }

  /**
   * Sets the time of the next claim. No candidate can be elected before a majority grants. So the claim waits until enough of the
   * refusing voters are free again. If they are free already, other candidates have claimed as well. Then losers wait at random,
   * and a winner leads in two round trips.
   */
  #pauses(election: string, votes: ReadonlyMap<string, Vote>, tookMs: number): void {
    const { majority, everyone, clock } = this.#server;
    const refusing = [...votes.values()].filter(({ granted }) => !granted);
    const waits = refusing.map(({ sign, waitMs }) => (this.#isReleased(election, sign) ? 0 : waitMs));
    const needed = majority - (everyone.length - waits.length);
    const barredMs = waits.toSorted((one, other) => one - other)[Math.max(needed, 1) - 1] ?? 0;
    const waitMs = barredMs > 0 ? barredMs : tookMs * (SHORTEST_PAUSE + clock.random());
    if (this.#nextMs.size > MOST_CLAIMS) this.#nextMs.clear();
    this.#nextMs.set(election, clock.monotonicMs() + waitMs);
  }

  /**
   * Reports whether a voter refuses for a leader that has released, as the own server knows. The RELEASE is on its way to that
   * voter.
   */
  #isReleased(election: string, sign: LeaderStatus | undefined): boolean {
    const own = this.#server.ballots.sign(election, this.#server.clock.monotonicMs());
    return own?.released === true && own.term === sign?.term && !sign.released;
  }
}
