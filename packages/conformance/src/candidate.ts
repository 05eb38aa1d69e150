import { Elector, type Clock, type ElectorOptions, type Leadership, type LeaseStore } from "@leasehold/core";
import type { ProcessClock } from "@leasehold/core/testing";

/** How a candidate differs from one with the default options. */
export interface CandidateOptions extends Partial<Omit<ElectorOptions, "store" | "candidateId" | "clock">> {
  /** That of its process, which its store has too. @defaultValue the place's */
  readonly clock?: ProcessClock | undefined;
  /** Its task goes on after its signal has aborted, until it is told to {@link Candidate.settle}. */
  readonly stubborn?: boolean | undefined;
}

/** Where a candidate competes, and who is told that it leads: its task has just begun, and fails if that throws. */
export interface Arena {
  readonly clock: Clock;
  readonly timing: Pick<ElectorOptions, "election" | "leaseDurationMs" | "retryPeriodMs">;
  started(candidate: Candidate, leadership: Leadership): void;
}

/** A process that campaigns from its start until it is told to stop, and what became of it. */
export class Candidate {
  readonly elector: Elector;
  /** Its leaderships, one after the other. */
  readonly leaderships: Leadership[] = [];
  /** The errors of its reads and attempts. */
  readonly failures: unknown[] = [];
  /** For each leadership that is over: the store confirmed its release. */
  readonly releases: boolean[] = [];
  overruns = 0;
  /** When it was last told that it has the lease, by the place's monotonic clock. */
  grantedMs = 0;
  /** When the signal of its last leadership aborted. */
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
      const onAbort = (): void => {
        this.abortedMs = arena.clock.monotonicMs();
        aborted.resolve();
      };
      if (leadership.signal.aborted) onAbort();
      else leadership.signal.addEventListener("abort", onAbort, { once: true });
      arena.started(this, leadership);
      await Promise.race(stubborn ? [this.#settled.promise] : [aborted.promise, this.#settled.promise]);
    };
    this.#run = this.elector.run(lead, { signal: this.#stopping.signal });
    this.#run.catch((thrown: unknown) => (this.#error = { thrown }));
  }

  /** Its last leadership, or the one that it has. */
  get leadership(): Leadership {
    const leadership = this.leaderships.at(-1);
    if (!leadership) throw new Error(`'${this.elector.candidateId}' has never led`);
    return leadership;
  }

  /** It is valid by its own account. A machine that stands still cannot be asked. */
  get leads(): boolean {
    return !this.#asleep && this.elector.isLeader;
  }

  /** @throws what its campaign has been ended by, if it has. */
  assertRuns(): void {
    if (this.#error) throw this.#error.thrown;
  }

  /** Its machine is suspended. */
  suspend(): void {
    this.#asleep = true;
    this.#clock?.suspend();
  }

  /** Its machine goes on. */
  resume(): void {
    this.#asleep = false;
    this.#clock?.resume();
  }

  /**
   * Its virtual machine, which was suspended, goes on as if no time had passed: its wall clock, too, has missed it all. It
   * is not asked again whether it leads, for it must be wrong about that.
   */
  resumeUnawares(): void {
    const missedMs = this.#clock?.resume() ?? 0;
    this.#clock?.jumpWall(-missedMs);
  }

  /** Ends its task. */
  settle(): void {
    this.#settled.resolve();
  }

  /** Tells it to stop. Resolves when its campaign has ended, however it did. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the case is over"));
    await this.#run.catch(() => undefined);
  }
}
