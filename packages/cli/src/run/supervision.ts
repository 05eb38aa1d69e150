import { LeadershipEndedError, type Clock, type Leadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { Child, exitCodeOfSignal, type ChildExit, type Program } from "./child.ts";
import { fillReserve } from "./descriptor-reserve.ts";
import { endGroup, isGone, signalGroup } from "./group.ts";
import { killInstant } from "./guard-order.ts";
import { GuardProcess } from "./guard-process.ts";
import { after, hasLasted, isDue, machineNow, untilMs, type MachineInstant } from "./machine-clock.ts";
import { planOf, type PlanTiming } from "./plan.ts";
import type { Mark } from "./process-table.ts";
import { isStopping, StopRequest, type StopSignals } from "./stop-signals.ts";
import type { TermOutcome } from "./term-outcome.ts";

/** From one look at what is left of CMD to the next. */
const LOOK_MS = 50;

/** The longest that it takes to find whom to ask, and to ask them, where all of a machine is busy; then the guard asks. */
const ASKING_MS = 5_000;

/** The longest that it waits for a guard that is alive to say whether it has asked. */
const HEARING_MS = 1_000;

export interface SupervisionOptions {
  readonly leadership: Leadership;
  readonly timing: PlanTiming;
  readonly program: Program;
  /** What CMD gets where no signal of our own began the end. */
  readonly lossSignal: NodeJS.Signals;
  readonly signals: StopSignals;
  readonly clock: Clock;
  /** Calls a listener after each confirmed renewal; returns what removes it. */
  readonly onRenewed: (listener: () => void) => () => void;
  /** Gives the leadership up. */
  readonly resign: () => void;
  readonly tell: (line: string) => void;
}

/** Runs CMD for one term, and settles once nothing of it is left, or nothing more can be done about it. */
export async function supervise(options: SupervisionOptions): Promise<TermOutcome> {
  return await new Supervision(options).run();
}

class Supervision {
  readonly #options: SupervisionOptions;
  #guard: GuardProcess | undefined;
  #child: Child | undefined;
  #isDraining = false;
  /** When CMD has had its time to end; undefined until it has been asked. */
  #graceEnd: MachineInstant | undefined;

  constructor(options: SupervisionOptions) {
    this.#options = options;
  }

  async run(): Promise<TermOutcome> {
    const { leadership, onRenewed, signals } = this.#options;
    fillReserve();
    // From the first on: a guard that is slow to start is not to act by what was so before it had started.
    const forgetRenewals = onRenewed(() => void this.#order());
    try {
      const failure = await this.#startGuard();
      if (failure) {
        this.#dismissGuard();
        return { exit: undefined, ended: failure, overran: false };
      }
      // The clocks decide, whatever timers have run or not.
      if (!leadership.isValid() || leadership.signal.aborted) return this.#notStarted();
      this.#child = this.#startChild();
      const exit = await Promise.race([this.#child.exited, leadership.ended.then(() => undefined)]);
      // It aborts the signal of a term that ran out while this process was paused, though no timer has run yet.
      leadership.isValid();
      const ended = leadership.signal.aborted ? (leadership.signal.reason as Error) : undefined;
      const overran = !(await this.#drain(ended));
      if (overran) return { exit, ended, overran };
      this.#dismissGuard();
      const exited = await this.#child.exited;
      this.#tellIfKilled(exited);
      return { exit: exited, ended, overran };
    } finally {
      signals.passOn = () => false;
      forgetRenewals();
    }
  }

  /** Starts the guard, before CMD. Returns why there is none, if so. */
  async #startGuard(): Promise<Error | undefined> {
    const { leadership, resign, tell, timing } = this.#options;
    const { election, term } = leadership;
    const failed = (why: string): Error =>
      new LeadershipEndedError(election, term, "resigned", `the guard ${why}, without which nothing is run.`);
    try {
      this.#guard = new GuardProcess(timing.leaseDurationMs / 2);
    } catch (error) {
      return failed((error as Error).message);
    }
    const guard = this.#guard;
    const lost = await Promise.race([this.#order(), leadership.ended, guard.lost]);
    if (typeof lost === "string") return failed(lost);
    void guard.lost.then((why) => {
      if (!leadership.isValid() || leadership.signal.aborted || this.#guard !== guard) return;
      resign();
      tell(`the guard ${why}; without it nothing may run.`);
    });
    return undefined;
  }

  #startChild(): Child {
    const { program, signals } = this.#options;
    const child = new Child(program);
    if (child.leader) {
      // Its silence counts from here.
      this.#options.leadership.checkpoint();
      this.#child = child;
      void this.#order();
      signals.passOn = (signal) => {
        if (isStopping(signal)) signalGroup(this.#mark, signal);
        else child.signal(signal);
        return true;
      };
    }
    return child;
  }

  #notStarted(): TermOutcome {
    const { leadership } = this.#options;
    this.#dismissGuard();
    return { exit: undefined, ended: leadership.signal.reason as Error, overran: false };
  }

  #dismissGuard(): void {
    const guard = this.#guard;
    this.#guard = undefined;
    guard?.dismiss();
  }

  /** Says that CMD was killed after its time, by this process or by the guard: its exit code alone may as well mean a lack of memory. */
  #tellIfKilled({ code }: ChildExit): void {
    const { tell, timing } = this.#options;
    if (code !== exitCodeOfSignal("SIGKILL") || !isDue(killInstant(this.#plan, this.#graceEnd), machineNow())) return;
    const graceS = timing.graceMs / 1_000;
    tell(`SIGKILL was sent: the command was still there ${graceS} s after it was asked to end, or its lease was about to end.`);
  }

  /** Asks what is left of CMD to end, and then makes it. Returns false if something of it would not go. */
  async #drain(ended: Error | undefined): Promise<boolean> {
    const { clock, lossSignal, timing } = this.#options;
    const mark = this.#mark;
    this.#isDraining = true;
    // What has to be killed at once is not asked first: to find whom to ask may take a while.
    const isLate = isDue(this.#plan.killAt, machineNow());
    // CMD is to hear it once: the guard leaves it to this process from here on, unless it has asked while this one was frozen.
    if (!isLate && !(await this.#guardHasAsked())) endGroup(mark, ended instanceof StopRequest ? ended.signal : lossSignal);
    this.#graceEnd = after(machineNow(), timing.graceMs);
    void this.#order();
    let killedAt: MachineInstant | undefined;
    for (;;) {
      const now = machineNow();
      const killAt = killInstant(this.#plan, this.#graceEnd);
      // Before the look at what is left, which may take a while.
      if (isDue(killAt, now)) {
        signalGroup(mark, "SIGKILL");
        killedAt ??= now;
      }
      if (isGone(mark)) return true;
      if (hasLasted(killedAt, timing.leaseDurationMs, now)) return false;
      await sleep(clock, killedAt ? LOOK_MS : Math.min(LOOK_MS, untilMs(killAt, machineNow())));
    }
  }

  /** Has the guard leave it to this process to ask, and reports whether it has asked already. */
  async #guardHasAsked(): Promise<boolean> {
    const guard = this.#guard;
    if (!guard) return false;
    const { clock } = this.#options;
    const patienceMs = Math.min(HEARING_MS, untilMs(this.#plan.killAt, machineNow()) / 4);
    const patience = new AbortController();
    const answered = this.#order().then(() => true);
    const isAnswered = await Promise.race([answered, guard.lost, sleep(clock, patienceMs, patience.signal)]);
    patience.abort();
    if (isAnswered !== true) {
      // After a stall of this process timers run before what the guard has written is read: between two turns of the event loop.
      for (let turns = 0; turns < 2; turns += 1) {
        // oxlint-disable-next-line no-restricted-globals -- whatever the clock
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    return guard.hasAsked;
  }

  /** Tells the guard of the instants as they are now. Resolves once it has answered. */
  async #order(): Promise<void> {
    const { leadership, lossSignal, timing } = this.#options;
    const now = machineNow();
    const plan = this.#plan;
    const killAt = killInstant(plan, this.#graceEnd);
    const termAt = this.#isDraining ? after(now, Math.min(ASKING_MS, untilMs(killAt, now) / 2)) : plan.termAt;
    await this.#guard?.order({
      ...this.#mark,
      termId: leadership.termId,
      signal: lossSignal,
      graceMs: timing.graceMs,
      termAt: this.#graceEnd ? null : termAt,
      killAt,
    });
  }

  get #plan(): ReturnType<typeof planOf> {
    const now = machineNow();
    return planOf(this.#options.timing, now, this.#options.leadership.remainingMs());
  }

  get #mark(): Mark {
    const { termId } = this.#options.leadership;
    return { termId, leader: this.#child?.leader };
  }
}
