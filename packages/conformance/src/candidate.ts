import { Elector, type ElectorOptions, type Leadership, type LeaseStore } from "@leasehold/core";
import { type Clock, onAbort } from "@leasehold/core/provider";
import type { ProcessClock } from "@leasehold/core/testing";

/** The options of a candidate that differ from the defaults. */
export interface CandidateOptions extends Partial<Omit<ElectorOptions, "store" | "candidateId" | "clock">> {
  /** The clock of its process, which its store uses too. @defaultValue the place's */
  readonly clock?: ProcessClock | undefined;
  /** True if its task continues after its signal has aborted, until {@link Candidate.settle} is called. */
  readonly stubborn?: boolean | undefined;
}

/** The election in which a candidate competes. Its task calls `started` first, and fails if that throws. */
export interface Arena {
  readonly clock: Clock;
  readonly timing: Pick<ElectorOptions, "election" | "leaseDurationMs" | "retryPeriodMs">;
  started(candidate: Candidate, leadership: Leadership): void;
}

/** A process that campaigns from its start until it is stopped, with a record of what happened to it. */
export class Candidate {
  readonly elector: Elector;
  /** Its leaderships, in order. */
  readonly leaderships: Leadership[] = [];
  /** The errors of its reads and attempts. */
  readonly failures: unknown[] = [];
  /** One entry for each leadership that is over: true if the store confirmed its release. */
  readonly releases: boolean[] = [];
  overruns = 0;
  /** The instant at which the store last confirmed this candidate's lease, by the place's monotonic clock. */
  grantedMs = 0;
  /** The instant at which the signal of its last leadership aborted, by the place's monotonic clock. */
  abortedMs: number | undefined;
  readonly #clock: ProcessClock | undefined;
  readonly #stopping = new AbortController();
  readonly #settled = Promise.withResolvers<void>();
  readonly #run: Promise<void>;
  #asleep = false;
  #error: { readonly thrown: unknown } | undefined;

  constructor(arena: Arena, candidateId: string, store: LeaseStore, { clock, stubborn, ...options }: CandidateOptions) {
    this.#clock = clock;
    this.elector = new Elector({ ...arena.timing, logger: false, ...options, store, candidateId, clock: clock ?? arena.clock });
    const granted = (): void => void (this.grantedMs = arena.clock.monotonicMs());
    this.elector.on("startedLeading", granted);
    this.elector.on("renewed", granted);
    this.elector.on("storeFailed", ({ error }) => this.failures.push(error));
    this.elector.on("overrun", () => (this.overruns += 1));
    this.elector.on("stoppedLeading", ({ released }) => this.releases.push(released));
    const lead = async (leadership: Leadership): Promise<void> => {
      this.leaderships.push(leadership);
      this.abortedMs = undefined;
      const aborted = Promise.withResolvers<void>();
      const end = (): void => {
        this.abortedMs = arena.clock.monotonicMs();
        aborted.resolve();
      };
      if (leadership.signal.aborted) end();
      else onAbort(leadership.signal, end);
      arena.started(this, leadership);
      await Promise.race(stubborn ? [this.#settled.promise] : [aborted.promise, this.#settled.promise]);
    };
    this.#run = this.elector.run(lead, { signal: this.#stopping.signal });
    this.#run.catch((thrown: unknown) => (this.#error = { thrown }));
  }

  /** Its present leadership, or else its last one. */
  get leadership(): Leadership {
    const leadership = this.leaderships.at(-1);
    if (!leadership) throw new Error(`'${this.elector.candidateId}' has never led`);
    return leadership;
  }

  /** Reports whether it leads by its own `isLeader`. False while its machine is suspended, because nothing runs there. */
  get leads(): boolean {
    return !this.#asleep && this.elector.isLeader;
  }

  /** @throws the error that has ended its campaign, if any. */
  assertRuns(): void {
    if (this.#error) throw this.#error.thrown;
  }

  /** Suspends its machine. */
  suspend(): void {
    this.#asleep = true;
    this.#clock?.suspend();
  }

  /** Resumes its machine. */
  resume(): void {
    this.#asleep = false;
    this.#clock?.resume();
  }

  /**
   * Resumes its virtual machine as if no time had passed: the wall clock has missed that time, too. The getter `leads` stays
   * false, because the candidate's own answer would be wrong.
   */
  resumeUnawares(): void {
    const missedMs = this.#clock?.resume() ?? 0;
    this.#clock?.jumpWall(-missedMs);
  }

  /** Ends its task. */
  settle(): void {
    this.#settled.resolve();
  }

  /** Stops it. Resolves when its campaign has ended, successfully or not. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the case is over"));
    await this.#run.catch(() => undefined);
  }
}
