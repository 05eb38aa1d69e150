import type * as groups from "./group.ts";
import { GONE_CHECKS, killInstant, type GuardOrder } from "./guard-order.ts";
import { after, hasLasted, isDue, machineNow, untilMs, type MachineInstant } from "./machine-clock.ts";

/** The longest time between two readings of the clocks. The wall clock may jump, so a timer alone is not enough. */
const LOOK_MS = 1_000;
/** The time between two checks whether CMD is gone. */
const POLL_MS = 50;
/** The time for which CMD may stay hidden after the wrapper's end. Between fork and exec it does not show the term's id yet. */
const UNBORN_MS = 1_000;
/** The guard gives up this long after the first KILL, because it cannot kill such a process. */
const GIVEN_UP_MS = 60_000;

/**
 * Decides when the guard asks CMD to end, and when it kills CMD. Both follow from the last order and the wrapper's end. The guard
 * stays until the wrapper is gone, because its end would mean to a live wrapper that CMD has no guard.
 */
export class GuardTimer {
  readonly #group: Pick<typeof groups, "endGroup" | "isGone" | "signalGroup">;
  readonly #over: () => void;
  readonly #leave: () => void;
  #order: GuardOrder | undefined;
  #closedAt: MachineInstant | undefined;
  #askedAt: MachineInstant | undefined;
  #killedAt: MachineInstant | undefined;
  /** The checks in a row that found CMD gone. */
  #goneChecks = 0;
  /** True: the guard signals nothing any more. The number of CMD's group may belong to other processes. */
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param over called when the guard signals nothing any more.
   * @param leave called when the guard has nothing more to do.
   */
  constructor(group: Pick<typeof groups, "endGroup" | "isGone" | "signalGroup">, over: () => void, leave: () => void) {
    this.#group = group;
    this.#over = over;
    this.#leave = leave;
  }

  /** Replaces the last order. The next call of `look` follows the new one. */
  hear(order: GuardOrder): void {
    // CMD may have started after the guard asked. Then it has to be asked again.
    if (order.leader && !this.#order?.leader) this.#askedAt = undefined;
    this.#order = order;
  }

  /** Called when the wrapper is gone. */
  close(): void {
    this.#closedAt = machineNow();
    this.look();
  }

  /** Does everything that is due, and sets a timer for the next step. */
  look(): void {
    clearTimeout(this.#timer);
    const order = this.#order;
    if (!order || this.#isOver) {
      if (this.#closedAt) this.#leave();
      return;
    }
    const began = machineNow();
    if (!this.#askedAt && (this.#closedAt || isDue(order.termAt, began))) {
      // Do not ask if KILL is due at once.
      if (!isDue(order.killAt, began)) this.#group.endGroup(order, order.signal);
      this.#askedAt = machineNow();
    }
    // Read the clocks again, because `endGroup` may have taken a while.
    const now = machineNow();
    const killAt = killInstant(order, this.#askedAt && after(this.#askedAt, order.graceMs));
    if (isDue(killAt, now)) {
      this.#killedAt ??= now;
      this.#group.signalGroup(order, "SIGKILL");
    }
    if (this.#hasEnded(order, now)) {
      this.#isOver = true;
      this.#over();
      if (this.#closedAt) this.#leave();
      return;
    }
    const untilDueMs = Math.min(this.#askedAt ? POLL_MS : untilMs(order.termAt, now), untilMs(killAt, now));
    const waitMs = this.#killedAt ? POLL_MS : Math.min(untilDueMs, LOOK_MS);
    // After a freeze, timers run before the input is read. `setImmediate` lets the guard read newer orders first.
    this.#timer = setTimeout(() => setImmediate(() => this.look()), waitMs);
  }

  /** Reports whether no process of CMD is left, or the guard gives up. Without `leader`, the wrapper may start CMD later. */
  #hasEnded(order: GuardOrder, now: MachineInstant): boolean {
    if (hasLasted(this.#killedAt, GIVEN_UP_MS, now)) return true;
    const isGone = this.#askedAt !== undefined && this.#group.isGone(order);
    this.#goneChecks = isGone ? this.#goneChecks + 1 : 0;
    if (this.#goneChecks < GONE_CHECKS) return false;
    return order.leader !== undefined || hasLasted(this.#closedAt, UNBORN_MS, now);
  }
}
