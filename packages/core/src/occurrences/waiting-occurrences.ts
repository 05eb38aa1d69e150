import { Journal, type LoggerOption } from "../reporting/journal.ts";
import type { LeaseStore } from "../store/lease-store.ts";
import { sleep, type Clock } from "../time/clock.ts";

/** A host polls this many of a schedule's newest occurrences at their own pace. All older ones share as many polls. */
const AT_OWN_PACE = 2;
/** The most occurrences of one schedule that a host waits for at once. For one more, the host gives up the oldest. */
const MOST_WAITING = 100;
/** A host that waits for this many occurrences at the same time is warned. */
const MANY_WAITING = 10;

export interface Waiting {
  readonly name: string;
  readonly id: string;
  readonly clock: Clock;
  readonly logger: LoggerOption;
}

const byStore = new WeakMap<LeaseStore, Map<string, WaitingOccurrences>>();

/** The occurrences of a schedule that this host waits for. A job that hangs must not leave a poller for each tick. */
export class WaitingOccurrences {
  readonly #waits: Wait[] = [];
  #isWarned = false;

  static enter(store: LeaseStore, waiting: Waiting): Wait {
    const byName = byStore.get(store) ?? new Map<string, WaitingOccurrences>();
    byStore.set(store, byName);
    const others = byName.get(waiting.name) ?? new WaitingOccurrences();
    byName.set(waiting.name, others);
    return others.#enter(waiting, () => byName.delete(waiting.name));
  }

  #enter(waiting: Waiting, onEmpty: () => void): Wait {
    const leave = (wait: Wait): void => {
      const at = this.#waits.indexOf(wait);
      if (at < 0) return;
      this.#waits.splice(at, 1);
      if (this.#waits.length < MANY_WAITING / 2) this.#isWarned = false;
      if (this.#waits.length === 0) onEmpty();
    };
    const wait: Wait = {
      waiting,
      isGivenUp: false,
      pause: async (ms, signal) => await sleep(waiting.clock, ms * this.#slowness(wait), signal),
      leave: () => leave(wait),
    };
    this.#waits.push(wait);
    if (this.#waits.length >= MANY_WAITING && !this.#isWarned) this.#warn(waiting);
    const [oldest] = this.#waits;
    if (this.#waits.length > MOST_WAITING && oldest) {
      oldest.isGivenUp = true;
      leave(oldest);
    }
    return wait;
  }

  #slowness(wait: Wait): number {
    const older = this.#waits.length - AT_OWN_PACE;
    return this.#waits.indexOf(wait) < older ? Math.max(older / AT_OWN_PACE, 1) : 1;
  }

  #warn({ name, logger }: Waiting): void {
    this.#isWarned = true;
    const oldest = this.#waits[0]?.waiting.id ?? "";
    const text = `This host waits for ${this.#waits.length} occurrences of '${name}' that other hosts have claimed, the oldest '${oldest}': the job may hang there. Set stallTimeoutMs and call checkpoint() in the job, or pass whenInProgress: 'return'. Above ${MOST_WAITING}, the host gives up the oldest.`;
    Journal.to(logger).warn("LEASEHOLD_OCCURRENCES_WAIT", "warn", text, { name, waiting: this.#waits.length });
  }
}

export interface Wait {
  readonly waiting: Waiting;
  /** True if too many later occurrences wait: this host no longer waits for this one. */
  isGivenUp: boolean;
  /** Waits before the next poll, and longer where many wait. @throws the signal's reason once it aborts. */
  readonly pause: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  readonly leave: () => void;
}
