import { LeadershipEndedError, type Clock, sleep } from "@leasehold/core/provider";
import type { Leadership } from "@leasehold/core";
import { Child, exitCodeOfSignal, type ChildExit, type Program } from "./child.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { isGone, signalGroup } from "./group.ts";
import { GONE_CHECKS, killInstant } from "./guard-order.ts";
import { GuardProcess } from "./guard-process.ts";
import { after, hasLasted, isDue, machineNow, untilMs, type MachineInstant } from "./machine-clock.ts";
import { planOf, type Plan, type PlanTiming } from "./kill-deadlines.ts";
import type { Mark } from "./process-table.ts";
import { isStopping, StopRequest, type StopSignals } from "./stop-signals.ts";
import type { TermOutcome } from "./term-outcome.ts";

/** The time between two checks whether a process of CMD is left. */
const POLL_MS = 50;

/** The time that the guard has for its first answer, in which Node starts. Until then the candidate leads, and nothing runs. */
const FIRST_ANSWER_MS = 60_000;
/** The least time that the guard has to answer the order to end CMD, even if the grace is shorter. */
const LEAST_ANSWER_MS = 1_000;

export interface SupervisionOptions {
  readonly leadership: Leadership;
  readonly timing: PlanTiming;
  readonly program: Program;
  /** The signal for CMD if no signal to the wrapper began the end. */
  readonly lossSignal: NodeJS.Signals;
  readonly signals: Pick<StopSignals, "passOn">;
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

/** The order to end CMD. */
interface EndOrder {
  readonly signal: NodeJS.Signals;
  /** The instant at which it was sent. The grace lasts a little longer: it counts from the guard's request to CMD. */
  readonly at: MachineInstant;
}

/** Starts the guard and CMD, and orders the guard to end CMD. Sends KILL itself only if the guard fails. */
class Supervision {
  readonly #options: SupervisionOptions;
  #guard: GuardProcess | undefined;
  #child: Child | undefined;
  #end: EndOrder | undefined;

  constructor(options: SupervisionOptions) {
    this.#options = options;
  }

  async run(): Promise<TermOutcome> {
    const { leadership, onRenewed, signals } = this.#options;
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
    const { clock, leadership, resign, tell, timing } = this.#options;
    const { election, term } = leadership;
    const failed = (why: string): Error =>
      new LeadershipEndedError(election, term, "resigned", `the guard ${why}, without which nothing is run.`);
    try {
      this.#guard = new GuardProcess(timing.leaseDurationMs / 2);
    } catch (error) {
      return failed((error as Error).message);
    }
    const guard = this.#guard;
    const up = new AbortController();
    const silent = sleep(clock, FIRST_ANSWER_MS, up.signal).then(
      () => "does not answer",
      () => undefined,
    );
    const answered = this.#order();
    // Here the collection delays nothing: the guard starts meanwhile, and no command runs yet.
    collectGarbage();
    const lost = await Promise.race([answered, leadership.ended, guard.lost, silent]);
    up.abort();
    if (typeof lost === "string") return failed(lost);
    void guard.lost.then((why) => {
      if (this.#guard !== guard) return;
      signalGroup(this.#mark, "SIGKILL");
      if (leadership.isValid() && !leadership.signal.aborted) resign();
      tell(`the guard ${why}; the command was killed, because nothing may run without a guard.`);
    });
    void guard.backupKilled.then((signal) => {
      if (this.#guard !== guard) return;
      tell(
        `${signal} has ended the backup guard, so the command outlives its lease if both wrapper and guard are killed or frozen.`,
      );
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

  /** Prints that CMD was killed after its time. The exit code alone could also mean a lack of memory. */
  #tellIfKilled({ code }: ChildExit): void {
    const { tell, timing } = this.#options;
    if (code !== exitCodeOfSignal("SIGKILL") || !isDue(this.#killAt, machineNow())) return;
    const graceS = timing.graceMs / 1_000;
    tell(`SIGKILL was sent: the command was still there ${graceS} s after it was asked to end, or its lease was about to end.`);
  }

  /** Makes the guard end every process of CMD, and waits for that. Returns false if a process survives KILL for a lease. */
  async #drain(ended: Error | undefined): Promise<boolean> {
    const { clock, lossSignal, timing } = this.#options;
    this.#end = { signal: ended instanceof StopRequest ? ended.signal : lossSignal, at: machineNow() };
    const answerMs = Math.max(timing.graceMs, LEAST_ANSWER_MS);
    let isHeard = false;
    void this.#order().then(() => (isHeard = true));
    let killedAt: MachineInstant | undefined;
    let goneChecks = 0;
    for (;;) {
      const now = machineNow();
      const hasGuardFailed = this.#guard?.isLost === true || (!isHeard && hasLasted(this.#end.at, answerMs, now));
      // Kill before the check for live processes, because that check may take a while.
      const isGuardLate = hasLasted(killedAt, LEAST_ANSWER_MS, now);
      if (hasGuardFailed || isGuardLate || isDue(this.#plan.killAt, now)) {
        signalGroup(this.#mark, "SIGKILL");
        killedAt ??= now;
      }
      if (isDue(this.#killAt, now)) killedAt ??= now;
      goneChecks = isGone(this.#mark) ? goneChecks + 1 : 0;
      if (goneChecks === GONE_CHECKS) return true;
      if (hasLasted(killedAt, timing.leaseDurationMs, now)) return false;
      await sleep(clock, killedAt ? POLL_MS : Math.min(POLL_MS, untilMs(this.#killAt, machineNow())));
    }
  }

  /** Sends the guard the instants at which it has to signal and kill CMD. Resolves once the guard has answered. */
  async #order(): Promise<void> {
    const { leadership, lossSignal, timing } = this.#options;
    const { termAt, killAt } = this.#plan;
    const { signal, at } = this.#end ?? { signal: lossSignal, at: termAt };
    const { termId } = leadership;
    await this.#guard?.order({ ...this.#mark, termId, signal, graceMs: timing.graceMs, termAt: at, killAt });
  }

  get #plan(): Plan {
    const now = machineNow();
    return planOf(this.#options.timing, now, this.#options.leadership.remainingMs());
  }

  /** The earliest instant at which the guard kills CMD. */
  get #killAt(): MachineInstant {
    return killInstant(this.#plan, this.#end && after(this.#end.at, this.#options.timing.graceMs));
  }

  get #mark(): Mark {
    const { termId } = this.#options.leadership;
    return { termId, leader: this.#child?.leader };
  }
}
