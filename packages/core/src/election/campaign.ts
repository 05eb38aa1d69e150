import type { Candidacy, FirstLook } from "./candidacy.ts";
import type { LeaseSnapshot } from "../store/lease-snapshot.ts";
import type { Expiry, Lease } from "../store/lease-store.ts";
import { LookPace } from "./look-pace.ts";
import { LookTimer, type Push } from "./look-timer.ts";
import { Setbacks, type SetbackOptions } from "./setbacks.ts";
import type { StandingBack } from "./standing-back.ts";
import { Starts } from "./starts.ts";
import { Turn } from "./turn.ts";

export interface CampaignOptions extends SetbackOptions {
  readonly candidacy: Candidacy;
  readonly standingBack: StandingBack;
  readonly election: string;
  readonly expiry: Expiry | undefined;
}

/**
 * The result of a step: the lease, or a wait, after which to go on from what was found if nothing newer was pushed
 * meanwhile. How long is asked as the wait begins: the store may push no more by then.
 */
type Step = { readonly lease: Lease } | { readonly waitMs: () => number; readonly found?: Push };

/**
 * One candidate's way to the lease, by looking, where the store has no queue.
 *
 * All standbys learn of the end of a leader at the same instant, and not all of them are to write then. Where the store
 * pushes, each waits for a random delay before it acquires, which the push of the winner's acquisition cuts short. Where
 * it has to be polled, the delay comes before the looks.
 */
export class Campaign {
  readonly #options: CampaignOptions;
  readonly #signal: AbortSignal;
  readonly #looks: LookTimer;
  readonly #lookPace: LookPace;
  /** Apart, so that no attempt waits for looks to be made up for. */
  readonly #attemptPace: LookPace;
  readonly #turn: Turn;
  readonly #setbacks: Setbacks;
  /** The first look is acted on at once: only those who have waited learn of something at the same instant. */
  #isFirst = true;

  constructor(options: CampaignOptions, signal: AbortSignal) {
    const { store, election, clock, timing } = options;
    this.#options = options;
    this.#signal = signal;
    this.#looks = new LookTimer({ store, election, clock, retryPeriodMs: timing.retryPeriodMs }, signal);
    this.#lookPace = new LookPace(clock, timing);
    this.#attemptPace = new LookPace(clock, timing);
    this.#turn = new Turn(clock, timing.attemptTimeoutMs);
    this.#setbacks = new Setbacks(options);
  }

  /**
   * Waits until the candidate has the lease. Returns `undefined` once the signal has aborted; it may still abort until the
   * caller goes on, who then gives the lease back.
   */
  async win(): Promise<Lease | undefined> {
    try {
      let found: Push | undefined;
      for (;;) {
        const step = await this.#nextStep(found).catch((error: unknown) => this.#failed(error));
        if ("lease" in step) return step.lease;
        const push = await this.#looks.wait(step.waitMs());
        if (push) this.#options.candidacy.learn(push.snapshot);
        found = push && this.#isDoubtful(push, step.found) ? undefined : (push ?? step.found);
        this.#isFirst = false;
      }
    } catch (error) {
      if (this.#signal.aborted) return undefined;
      throw error;
    } finally {
      this.#looks.stop();
    }
  }

  /** The first in its turn: a process may begin a thousand campaigns at once. */
  #nextStep(found: Push | undefined): Promise<Step> {
    if (!this.#isFirst) return this.#step(found);
    return Starts.on(this.#options.store).take(() => this.#step(found), this.#signal);
  }

  async #step(found: Push | undefined): Promise<Step> {
    const { candidacy, contact, standingBack, expiry } = this.#options;
    if (!found && this.#lookPace.waitMs > 0) return { waitMs: () => this.#lookPace.waitMs };
    const look = found ?? (await this.#look());
    if ("won" in look) return look.won ? { lease: look.won } : { waitMs: () => this.#nextLookMs(undefined) };
    const { snapshot } = look;
    const standBackMs = standingBack.leftMs(snapshot);
    if (standBackMs > 0) return { waitMs: () => Math.min(Math.max(this.#nextLookMs(snapshot), 1), standBackMs) };
    if (candidacy.mayTry(snapshot) && !this.#signal.aborted) {
      const waitMs = this.#attemptInMs(snapshot?.term ?? 0);
      if (waitMs > 0) return { waitMs: () => waitMs, ...(this.#looks.watching ? { found: { snapshot } } : {}) };
      this.#turn.taken();
      this.#attemptPace.spend();
      const lease = await candidacy.attempt(expiry);
      if (lease) return { lease };
    } else if (contact.needsProof) {
      this.#lookPace.spend();
      await candidacy.prove(this.#signal);
    }
    return { waitMs: () => this.#nextLookMs(snapshot) };
  }

  #attemptInMs(term: number): number {
    const turnInMs = this.#looks.watching && !this.#isFirst ? this.#turn.inMs(term) : 0;
    return Math.max(turnInMs, this.#attemptPace.waitMs);
  }

  /** A push that takes back what was found of the same term may have been long under way: only a look can tell. */
  #isDoubtful({ snapshot }: Push, found: Push | undefined): boolean {
    return found !== undefined && snapshot?.term === found.snapshot?.term && !this.#options.candidacy.mayTry(snapshot);
  }

  async #look(): Promise<FirstLook> {
    const { candidacy, clock, expiry } = this.#options;
    this.#lookPace.spend();
    const sentMs = clock.monotonicMs();
    const look = this.#mayTakeAtOnce
      ? await candidacy.lookOrTake(expiry, this.#signal)
      : { snapshot: await candidacy.look(expiry, this.#signal) };
    this.#turn.tookMs(clock.monotonicMs() - sentMs);
    return look;
  }

  /**
   * The first look is an attempt where the store takes one unseen: won or refused, that is one request, and a look with an attempt
   * after it, or a proof that this process may write, is two. All later looks are reads, which cost less.
   */
  get #mayTakeAtOnce(): boolean {
    return this.#isFirst && this.#options.standingBack.leftMs(undefined) === 0;
  }

  #nextLookMs(snapshot: LeaseSnapshot | undefined): number {
    const { store, election, timing } = this.#options;
    const aimedMs = store.nextLookMs(election, timing.retryPeriodMs);
    if (this.#looks.watching) return aimedMs;
    // Who saw the last renewal later sees the expiry later, too: that look is spread already. A store that judges the expiry
    // itself knows no ages, and aims to learn of its service's time.
    const { leaseDurationMs, ageMs } = snapshot ?? {};
    const isBeforeExpiry = ageMs && leaseDurationMs !== undefined && aimedMs < leaseDurationMs - ageMs[0];
    const delayMs = isBeforeExpiry ? this.#turn.delayMs() : 0;
    return Math.min(aimedMs + delayMs, timing.retryPeriodMs);
  }

  #failed(error: unknown): Step {
    if (this.#signal.aborted) throw error;
    const waitMs = this.#setbacks.met(error);
    this.#looks.forget();
    return { waitMs: () => waitMs };
  }
}
