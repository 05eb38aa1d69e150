import { LeadershipEndedError, type Clock, sleep } from "@leasehold/core/provider";
import type { Leadership } from "@leasehold/core";
import { Child, exitCodeOfSignal, type ChildExit, type Program } from "./child.ts";
import { fillReserve } from "./descriptor-reserve.ts";
import { endGroup, isGone, signalGroup } from "./group.ts";
import { killInstant } from "./guard-order.ts";
import { GuardProcess } from "./guard-process.ts";
import { after, hasLasted, isDue, machineNow, untilMs, type MachineInstant } from "./machine-clock.ts";
import { planOf, type PlanTiming } from "./kill-deadlines.ts";
import type { Mark } from "./process-table.ts";
import { isStopping, StopRequest, type StopSignals } from "./stop-signals.ts";
import type { TermOutcome } from "./term-outcome.ts";

/** The time between two checks whether a process of CMD is left. */
const LOOK_MS = 50;

/** The longest time for finding CMD's processes and asking them to end on a busy machine. After it, the guard asks. */
const ASKING_MS = 5_000;

/** The longest wait for a live guard to tell whether it has asked CMD to end. */
const HEARING_MS = 1_000;

export interface SupervisionOptions {
  readonly leadership: Leadership;
  readonly timing: PlanTiming;
  readonly program: Program;
  /** The signal for CMD if no signal to the wrapper began the end. */
  readonly lossSignal: NodeJS.Signals;
  readonly signals: StopSignals;
  readonly clock: Clock;
  /** Calls a listener after each confirmed renewal. Returns a function that removes it. */
  readonly onRenewed: (listener: () => void) => () => void;
  /** Gives the leadership up. */
  readonly resign: () => void;
  readonly tell: (line: string) => void;
}

/** Runs CMD for one term. Settles once no process of CMD is left, or once the rest has survived KILL for a lease. */
export async function supervise(options: SupervisionOptions): Promise<TermOutcome> {
  return await new Supervision(options).run();
}

class Supervision {
  readonly #options: SupervisionOptions;
  #guard: GuardProcess | undefined;
  #child: Child | undefined;
  #isDraining = false;
  /** When CMD's grace ends. Undefined until CMD has been asked to end. */
  #graceEnd: MachineInstant | undefined;

  constructor(options: SupervisionOptions) {
    this.#options = options;
  }

  async run(): Promise<TermOutcome> {
    const { leadership, onRenewed, signals } = this.#options;
    fillReserve();
    // Send orders from the first renewal on, so that a guard that starts slowly does not act on old instants.
    const forgetRenewals = onRenewed(() => void this.#order());
    try {
      const failure = await this.#startGuard();
      if (failure) {
        this.#dismissGuard();
        return { exit: undefined, ended: failure, overran: false };
      }
      // The clocks decide, because a timer may be late.
      if (!leadership.isValid() || leadership.signal.aborted) return this.#notStarted();
      this.#child = this.#startChild();
      const exit = await Promise.race([this.#child.exited, leadership.ended.then(() => undefined)]);
      // `isValid` aborts the signal if the term ran out during a pause of this process, even before any timer runs.
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

  /** Starts the guard, before CMD. Returns an error if there is no guard. */
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
      // The stall timeout counts from the start of CMD.
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

  /** Prints that this process or the guard killed CMD after its time. The exit code alone could also mean a lack of memory. */
  #tellIfKilled({ code }: ChildExit): void {
    const { tell, timing } = this.#options;
    if (code !== exitCodeOfSignal("SIGKILL") || !isDue(killInstant(this.#plan, this.#graceEnd), machineNow())) return;
    const graceS = timing.graceMs / 1_000;
    tell(`SIGKILL was sent: the command was still there ${graceS} s after it was asked to end, or its lease was about to end.`);
  }

  /** Asks every process of CMD to end, and kills the rest later. Returns false if a process survives that. */
  async #drain(ended: Error | undefined): Promise<boolean> {
    const { clock, lossSignal, timing } = this.#options;
    const mark = this.#mark;
    this.#isDraining = true;
    // If KILL is due at once, do not ask first, because finding the processes may take a while.
    const isLate = isDue(this.#plan.killAt, machineNow());
    // CMD is to be asked once. From here on the guard leaves that to this process, unless it asked while this process was frozen.
    if (!isLate && !(await this.#guardHasAsked())) endGroup(mark, ended instanceof StopRequest ? ended.signal : lossSignal);
    this.#graceEnd = after(machineNow(), timing.graceMs);
    void this.#order();
    let killedAt: MachineInstant | undefined;
    for (;;) {
      const now = machineNow();
      const killAt = killInstant(this.#plan, this.#graceEnd);
      // Kill before the check of what is left, which may take a while.
      if (isDue(killAt, now)) {
        signalGroup(mark, "SIGKILL");
        killedAt ??= now;
      }
      if (isGone(mark)) return true;
      if (hasLasted(killedAt, timing.leaseDurationMs, now)) return false;
      await sleep(clock, killedAt ? LOOK_MS : Math.min(LOOK_MS, untilMs(killAt, machineNow())));
    }
  }

  /** Makes the guard leave it to this process to ask CMD to end. Reports whether the guard has asked already. */
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
      // After a stall of this process, timers run before the guard's output is read. Two turns of the event loop let it be read.
      for (let turns = 0; turns < 2; turns += 1) {
        // oxlint-disable-next-line no-restricted-globals -- whatever the clock
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    return guard.hasAsked;
  }

  /** Sends the guard the present instants. Resolves once the guard has answered. */
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
