import { Elector, timing, type Leadership, type TimingReport } from "@leasehold/core";
import { RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { ProcessClock, SimulatedRecordService, VirtualClock, type Passage, type PassengerRequest } from "@leasehold/core/testing";
import { Candidate, nameOf, type LaneState } from "./candidate.ts";

export const ELECTION = "playground";
/** The number of candidates. */
export const CANDIDATES = 5;
/** All actions happen at multiples of this virtual time, so that a situation can be repeated from its link. */
export const STEP_MS = 50;
/** The virtual time that each lane shows. */
export const SHOWN_MS = 30_000;

const WORK_EVERY_MS = 400;
/** The time that a write of the leader's task is on its way. */
const WRITE_MS = 30;
const HOUR_MS = 3_600_000;

/** The durations that the reader may change, in milliseconds. */
export interface Settings {
  readonly leaseDurationMs: number;
  readonly renewIntervalMs: number;
  readonly retryPeriodMs: number;
}

export const DEFAULT_SETTINGS: Settings = { leaseDurationMs: 5_000, renewIntervalMs: 1_500, retryPeriodMs: 1_000 };

/** The actions of the reader. `store` is the only one without a candidate, beside `break`. */
export const ACTIONS = [
  "kill",
  "start",
  "freeze",
  "thaw",
  "block",
  "cut",
  "join",
  "clock",
  "lose",
  "stop",
  "transfer",
  "break",
  "store",
] as const;
export type Action = (typeof ACTIONS)[number];

export interface LogLine {
  readonly atMs: number;
  /** The candidate's index; `undefined` for the store and for an administrator. */
  readonly candidate: number | undefined;
  readonly text: string;
}

/**
 * Five candidates of one election, their store and their network, in virtual time. They are real electors of `@leasehold/core`.
 * The same settings and actions always give the same history.
 */
export class PlaygroundWorld {
  readonly clock = new VirtualClock(7);
  readonly settings: Settings;
  readonly timing: TimingReport;
  readonly candidates: readonly Candidate[];
  readonly log: LogLine[] = [];
  /** The virtual time for which two candidates were valid at once. Always 0. */
  twoValidMs = 0;
  /** The virtual time for which the flags of two candidates were set at once. */
  twoFlagsMs = 0;
  writes = 0;
  /** The late writes of former leaders that the store's fence has refused. */
  refused = 0;
  isStoreDown = false;
  readonly #service = new SimulatedRecordService(this.clock, { pushes: true });
  readonly #admin: RecordLeaseStore;
  readonly #startMs = this.clock.monotonicMs();

  /** @throws {ConfigurationError} for durations that do not fit together. */
  constructor(settings: Settings = DEFAULT_SETTINGS) {
    this.settings = settings;
    const admin = new ProcessClock(this.clock);
    this.#admin = new RecordLeaseStore(
      this.#service.connect(admin, () => this.#passage()),
      { clock: admin },
    );
    this.timing = timing(settings, this.#admin.capabilities);
    const parts = Array.from({ length: CANDIDATES }, (_, index) => index);
    this.candidates = parts.map((index) => new Candidate(index, this.#begin(index)));
    for (const candidate of this.candidates) this.#run(candidate);
  }

  /** The virtual time since the start. */
  get nowMs(): number {
    return this.clock.monotonicMs() - this.#startMs;
  }

  /** Lets one {@link STEP_MS} of virtual time pass, and looks at all candidates. */
  async step(): Promise<void> {
    await this.clock.advance(STEP_MS);
    this.#observe();
  }

  /** Returns the candidates that are valid at this moment, by their own clocks. */
  valid(): readonly number[] {
    return this.#indexes((candidate) => this.#isValid(candidate));
  }

  /** Returns the candidates whose flag says that they lead. */
  flagged(): readonly number[] {
    return this.#indexes(({ process, flag }) => process.alive && flag);
  }

  /** The state of one lane at this moment. */
  stateOf(candidate: Candidate): LaneState {
    const { process, flag, isStopped } = candidate;
    if (!process.alive) return "dead";
    if (this.#isValid(candidate)) return "leading";
    if (!process.running) return flag ? "stale" : "frozen";
    if (isStopped) return "stopped";
    return flag ? "ending" : "standby";
  }

  /** Reports whether an action would change anything now. */
  can(action: Action, candidate: Candidate): boolean {
    const { process, isStopped, isCut } = candidate;
    const runs = process.running;
    switch (action) {
      case "kill":
        return process.alive;
      case "start":
        return !process.alive || (isStopped && runs);
      case "thaw":
        return process.alive && !runs;
      case "join":
        return process.alive && isCut;
      case "cut":
        return process.alive && !isCut;
      case "store":
      case "break":
        return true;
      case "transfer":
        return runs && !isStopped && !this.#isValid(candidate);
      default:
        return runs && !isStopped;
    }
  }

  /** Carries out an action of the reader. It does nothing where {@link can} is false. */
  act(action: Action, index: number): void {
    const candidate = this.candidates[index];
    if (candidate && this.can(action, candidate)) ACTS[action](this, candidate);
  }

  #say(candidate: number | undefined, text: string): void {
    this.log.push({ atMs: this.nowMs, candidate, text });
    if (this.log.length > 200) this.log.splice(0, 100);
  }

  kill(candidate: Candidate): void {
    candidate.process.kill();
    candidate.flag = false;
    candidate.thaws?.cancel();
    this.#say(candidate.index, "is killed");
  }

  start(candidate: Candidate): void {
    candidate.process.kill();
    Object.assign(candidate, {
      ...this.#begin(candidate.index),
      isCut: false,
      isStopped: false,
      leadership: undefined,
      flag: false,
    });
    this.#say(candidate.index, "starts");
    this.#run(candidate);
  }

  freeze(candidate: Candidate, forMs?: number): void {
    const { elector, leadership } = candidate;
    candidate.frozenValidUntilMs = elector.isLeader ? this.nowMs + (leadership?.remainingMs() ?? 0) : 0;
    candidate.process.pause();
    this.#say(candidate.index, forMs === undefined ? "is frozen" : `blocks its event loop for ${forMs / 1_000} s`);
    if (forMs !== undefined) candidate.thaws = this.clock.setTimer(() => this.thaw(candidate), forMs);
  }

  thaw(candidate: Candidate): void {
    candidate.thaws?.cancel();
    candidate.process.resume();
    this.#say(candidate.index, "runs again");
    // The write that had passed its check when the process was frozen.
    if (candidate.flag && candidate.leadership) this.#write(candidate, candidate.leadership);
  }

  setNetwork(candidate: Candidate, isCut: boolean): void {
    candidate.isCut = isCut;
    this.#say(candidate.index, isCut ? "is cut off from the store" : "reaches the store again");
  }

  jumpClock(candidate: Candidate): void {
    candidate.process.jumpWall(HOUR_MS);
    this.#say(candidate.index, "has its wall clock set an hour ahead");
  }

  loseReply(candidate: Candidate): void {
    candidate.losesReply = true;
    this.#say(candidate.index, "will lose its next reply");
  }

  stop(candidate: Candidate): void {
    candidate.isStopped = true;
    this.#say(candidate.index, "is told to stop");
    void candidate.elector.stop();
  }

  toggleStore(): void {
    this.isStoreDown = !this.isStoreDown;
    this.#say(undefined, this.isStoreDown ? "The store is down" : "The store is back");
  }

  transfer(candidate: Candidate): void {
    this.#say(undefined, `An administrator asks for a transfer to ${candidate.name}`);
    this.#order(this.#admin.transfer(ELECTION, candidate.name));
  }

  break(): void {
    this.#say(undefined, "An administrator breaks the present term");
    this.#order(
      this.#admin.break(ELECTION, { reason: "the reader's wish" }).then(({ broken }) => (broken ? "broken" : "nothing to break")),
    );
  }

  #order(order: Promise<string>): void {
    void order.then(
      (outcome) => this.#say(undefined, `The order's outcome: ${outcome}`),
      (error: unknown) => this.#say(undefined, `The order failed: ${error instanceof Error ? error.message : String(error)}`),
    );
  }

  #begin(index: number): { readonly process: ProcessClock; readonly elector: Elector } {
    const process = new ProcessClock(this.clock);
    const records = this.#service.connect(process, (request) => this.#passage(request, this.candidates[index]));
    const store = new RecordLeaseStore(records, { clock: process });
    const elector = new Elector({
      ...this.settings,
      store,
      election: ELECTION,
      candidateId: nameOf(index),
      clock: process,
      logger: false,
    });
    return { process, elector };
  }

  #run(candidate: Candidate): void {
    const { elector, process } = candidate;
    const isPresent = (): boolean => candidate.elector === elector;
    elector.on("startedLeading", ({ term }) => {
      candidate.flag = true;
      this.#say(candidate.index, `leads in term ${term}`);
    });
    elector.on("ending", ({ reason }) => {
      candidate.flag = false;
      this.#say(candidate.index, `must stop: ${reason.message}`);
    });
    elector.on("stoppedLeading", ({ released }) => {
      candidate.flag = false;
      this.#say(candidate.index, released ? "has released the lease" : "leaves the lease to expire");
    });
    const work = async (leadership: Leadership): Promise<void> => {
      candidate.leadership = leadership;
      while (!leadership.signal.aborted) {
        await sleep(process, WORK_EVERY_MS);
        if (!leadership.isValid()) return;
        await sleep(process, WRITE_MS);
        this.#write(candidate, leadership);
      }
    };
    void elector.run(work).then(
      () => {
        if (isPresent() && process.alive) this.#say(candidate.index, "has stopped");
      },
      (error: unknown) => this.#say(candidate.index, `fails: ${error instanceof Error ? error.message : String(error)}`),
    );
  }

  /** A write of the leader's task to what the store guards. The store admits it only while this term is the present one. */
  #write({ index }: Candidate, leadership: Leadership): void {
    if (this.#service.admits(ELECTION, leadership)) {
      this.writes += 1;
      return;
    }
    this.refused += 1;
    this.#say(index, `sends a late write of term ${leadership.term}: the fence refuses it`);
  }

  #passage({ operation }: Partial<PassengerRequest> = {}, candidate?: Candidate): Passage {
    if (this.isStoreDown || candidate?.isCut) return { arrivals: [] };
    const afterMs = 10 + 20 * this.clock.random();
    if (candidate?.losesReply && operation !== "watch") {
      candidate.losesReply = false;
      this.#say(candidate.index, `loses the reply to a ${operation === "put" ? "write" : "read"}`);
      return { arrivals: [{ afterMs }] };
    }
    return { arrivals: [{ afterMs, replyAfterMs: afterMs }] };
  }

  #observe(): void {
    const { nowMs } = this;
    if (this.valid().length > 1) this.twoValidMs += STEP_MS;
    if (this.flagged().length > 1) this.twoFlagsMs += STEP_MS;
    for (const candidate of this.candidates) {
      const state = this.stateOf(candidate);
      const term = state === "leading" || state === "ending" || state === "stale" ? candidate.leadership?.term : undefined;
      const { spans } = candidate;
      const last = spans.at(-1);
      if (last?.state === state && last.term === term) last.toMs = nowMs;
      else spans.push({ fromMs: last?.toMs ?? nowMs - STEP_MS, toMs: nowMs, state, term });
      while ((spans[0]?.toMs ?? nowMs) < nowMs - 2 * SHOWN_MS) spans.shift();
    }
  }

  #isValid({ process, elector, frozenValidUntilMs }: Candidate): boolean {
    if (!process.alive) return false;
    return process.running ? elector.isLeader : this.nowMs < frozenValidUntilMs;
  }

  #indexes(matches: (candidate: Candidate) => boolean): readonly number[] {
    return this.candidates.filter(matches).map(({ index }) => index);
  }
}

const ACTS: Readonly<Record<Action, (world: PlaygroundWorld, candidate: Candidate) => void>> = {
  kill: (world, candidate) => world.kill(candidate),
  start: (world, candidate) => world.start(candidate),
  freeze: (world, candidate) => world.freeze(candidate),
  thaw: (world, candidate) => world.thaw(candidate),
  block: (world, candidate) => world.freeze(candidate, 1.5 * world.settings.leaseDurationMs),
  cut: (world, candidate) => world.setNetwork(candidate, true),
  join: (world, candidate) => world.setNetwork(candidate, false),
  clock: (world, candidate) => world.jumpClock(candidate),
  lose: (world, candidate) => world.loseReply(candidate),
  stop: (world, candidate) => world.stop(candidate),
  transfer: (world, candidate) => world.transfer(candidate),
  break: (world) => world.break(),
  store: (world) => world.toggleStore(),
};
