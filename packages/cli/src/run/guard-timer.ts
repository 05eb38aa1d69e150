import type * as groups from "./group.ts";
import { killInstant, type GuardOrder } from "./guard-order.ts";
import { after, hasLasted, isDue, machineNow, untilMs, type MachineInstant } from "./machine-clock.ts";

/** The longest time between two readings of the clocks. The wall clock may jump, so a timer alone is not enough. */
const LOOK_MS = 1_000;
/** The longest wait after `termAt`. After a stall of the whole machine, a live wrapper can ask first, so CMD is asked once. */
const PATIENCE_MS = 100;
/** The time between two checks whether CMD is gone. */
const POLL_MS = 50;
/** How long CMD may stay hidden after the wrapper's end. Between fork and exec it does not show the term's id yet. */
const UNBORN_MS = 1_000;
/** The guard gives up this long after the first KILL, because it cannot kill such a process. */
const GIVEN_UP_MS = 60_000;

/** Decides when the guard asks CMD to end, and when it kills CMD. Both follow from the last order and the wrapper's end. */
export class GuardTimer {
  readonly #group: Pick<typeof groups, "endGroup" | "isGone" | "signalGroup">;
  readonly #leave: () => void;
  #order: GuardOrder | undefined;
  #closedAt: MachineInstant | undefined;
  /** When the guard noticed that `termAt` has passed without a newer order. */
  #unaskedSince: MachineInstant | undefined;
  #askedAt: MachineInstant | undefined;
  #killedAt: MachineInstant | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param leave called when the guard has nothing more to do. */
  constructor(group: Pick<typeof groups, "endGroup" | "isGone" | "signalGroup">, leave: () => void) {
    this.#group = group;
    this.#leave = leave;
  }

  /** Replaces the last order. The next call of `look` follows the new one. */
  hear(order: GuardOrder): void {
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
    if (!order) {
      if (this.#closedAt) this.#leave();
      return;
    }
    const began = machineNow();
    const askAt = this.#askAt(order, began);
    if (!this.#askedAt && (this.#closedAt || (askAt && isDue(askAt, began)))) {
      // Do not ask if the wrapper has asked already (`termAt` is null), or if KILL is due at once.
      if (order.termAt && !isDue(order.killAt, began)) this.#group.endGroup(order, order.signal);
      this.#askedAt = machineNow();
    }
    // Read the clocks again, because `endGroup` may have taken a while.
    const now = machineNow();
    const killAt = killInstant(order, this.#askedAt && after(this.#askedAt, order.graceMs));
    if (isDue(killAt, now)) {
      this.#killedAt ??= now;
      this.#group.signalGroup(order, "SIGKILL");
    }
    if (this.#isOver(order, now)) {
      this.#leave();
      return;
    }
    const untilDueMs = this.#askedAt ? Math.min(POLL_MS, untilMs(killAt, now)) : untilMs(askAt ?? killAt, now);
    const waitMs = this.#killedAt ? POLL_MS : Math.min(untilDueMs, LOOK_MS);
    // After a freeze, timers run before the input is read. `setImmediate` lets the guard read newer orders first.
    this.#timer = setTimeout(() => setImmediate(() => this.look()), waitMs);
  }

  /** Returns when the guard will ask CMD to end, by the present order. Undefined if the wrapper has asked. */
  #askAt({ termAt, killAt }: GuardOrder, now: MachineInstant): MachineInstant | undefined {
    if (!termAt || !isDue(termAt, now)) {
      this.#unaskedSince = undefined;
      return termAt ?? undefined;
    }
    this.#unaskedSince ??= now;
    return after(this.#unaskedSince, Math.min(PATIENCE_MS, untilMs(killAt, this.#unaskedSince) / 4));
  }

  /** Reports whether no process of CMD is left, or the guard gives up. Without `leader`, the wrapper may start CMD later. */
  #isOver(order: GuardOrder, now: MachineInstant): boolean {
    if (hasLasted(this.#killedAt, GIVEN_UP_MS, now)) return true;
    if (!this.#askedAt || !this.#group.isGone(order)) return false;
    return order.leader !== undefined || hasLasted(this.#closedAt, UNBORN_MS, now);
  }
}
