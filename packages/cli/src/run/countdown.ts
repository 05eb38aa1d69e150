import type * as groups from "./group.ts";
import { killInstant, type GuardOrder } from "./guard-order.ts";
import { after, hasLasted, isDue, machineNow, untilMs, type MachineInstant } from "./machine-clock.ts";

/** How often it looks at the clocks, of which one may jump. */
const LOOK_MS = 1_000;
/** For how long it waits, once it is to ask: after a stall of the whole machine a wrapper that lives asks first, once for both. */
const PATIENCE_MS = 100;
/** How often it looks whether CMD is gone. */
const POLL_MS = 50;
/** After the wrapper's end, CMD may still be between its fork and the program that carries our mark. */
const UNBORN_MS = 1_000;
/** What cannot be killed for so long never will be, or not by us. */
const GIVEN_UP_MS = 60_000;

/** What the guard does, and when: by the last order that it has heard, and by whether the wrapper is gone. */
export class Countdown {
  readonly #group: Pick<typeof groups, "endGroup" | "isGone" | "signalGroup">;
  readonly #leave: () => void;
  #order: GuardOrder | undefined;
  #closedAt: MachineInstant | undefined;
  /** Since when it knows that the wrapper has not asked in time. */
  #unaskedSince: MachineInstant | undefined;
  #askedAt: MachineInstant | undefined;
  #killedAt: MachineInstant | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param leave called when nothing more is to be done. */
  constructor(group: Pick<typeof groups, "endGroup" | "isGone" | "signalGroup">, leave: () => void) {
    this.#group = group;
    this.#leave = leave;
  }

  /** Takes an order in place of the one before; the next look goes by it. */
  hear(order: GuardOrder): void {
    this.#order = order;
  }

  /** The wrapper is gone. */
  close(): void {
    this.#closedAt = machineNow();
    this.look();
  }

  /** Does what is due, and looks again when something will be. */
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
      // A wrapper that has gone may have asked before; and what has to be killed at once is not asked first.
      if (order.termAt && !isDue(order.killAt, began)) this.#group.endGroup(order, order.signal);
      this.#askedAt = machineNow();
    }
    // To ask may have taken a while.
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
    // After a freeze, what was written meanwhile is read before anything is done by what was known before it.
    this.#timer = setTimeout(() => setImmediate(() => this.look()), waitMs);
  }

  /** Returns when it asks, as far as is known now; nothing if the wrapper has. */
  #askAt({ termAt, killAt }: GuardOrder, now: MachineInstant): MachineInstant | undefined {
    if (!termAt || !isDue(termAt, now)) {
      this.#unaskedSince = undefined;
      return termAt ?? undefined;
    }
    this.#unaskedSince ??= now;
    return after(this.#unaskedSince, Math.min(PATIENCE_MS, untilMs(killAt, this.#unaskedSince) / 4));
  }

  /** Reports whether nothing of CMD is left, as far as that can be known: a wrapper that lives may not have started it yet. */
  #isOver(order: GuardOrder, now: MachineInstant): boolean {
    if (hasLasted(this.#killedAt, GIVEN_UP_MS, now)) return true;
    if (!this.#askedAt || !this.#group.isGone(order)) return false;
    return order.leader !== undefined || hasLasted(this.#closedAt, UNBORN_MS, now);
  }
}
