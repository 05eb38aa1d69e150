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

/** The occurrences that this host waits for, the oldest first, by store and schedule. */
const byStore = new WeakMap<LeaseStore, Map<string, Wait[]>>();
/** The schedules for which a host is warned already. */
const warned = new WeakSet<readonly Wait[]>();

/** One occurrence that this host waits for. A job that hangs must not leave a poller for each tick. */
export class Wait {
  /** True if too many later occurrences wait: this host no longer waits for this one. */
  isGivenUp = false;
  readonly #waiting: Waiting;
  readonly #onEmpty: () => void;
  readonly #all: Wait[];

  constructor(store: LeaseStore, waiting: Waiting) {
    const byName = byStore.get(store) ?? new Map<string, Wait[]>();
    byStore.set(store, byName);
    const all = byName.get(waiting.name) ?? [];
    byName.set(waiting.name, all);
    this.#waiting = waiting;
    this.#all = all;
    this.#onEmpty = () => byName.delete(waiting.name);
    all.push(this);
    if (all.length >= MANY_WAITING && !warned.has(all)) this.#warn();
    const [oldest] = all;
    if (all.length > MOST_WAITING && oldest) {
      oldest.isGivenUp = true;
      oldest.leave();
    }
  }

  /** Waits before the next poll, and longer where many wait. @throws the signal's reason once it aborts. */
  async pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const older = this.#all.length - AT_OWN_PACE;
    const slowness = this.#all.indexOf(this) < older ? Math.max(older / AT_OWN_PACE, 1) : 1;
    await sleep(this.#waiting.clock, ms * slowness, signal);
  }

  leave(): void {
    const at = this.#all.indexOf(this);
    if (at < 0) return;
    this.#all.splice(at, 1);
    if (this.#all.length < MANY_WAITING / 2) warned.delete(this.#all);
    if (this.#all.length === 0) this.#onEmpty();
  }

  #warn(): void {
    warned.add(this.#all);
    const { name, logger } = this.#waiting;
    const [oldest = this] = this.#all;
    const text = `This host waits for ${this.#all.length} occurrences of '${name}' that other hosts have claimed, the oldest '${oldest.#waiting.id}': the job may hang there. Set stallTimeoutMs and call checkpoint() in the job, or pass whenInProgress: 'return'. Above ${MOST_WAITING}, the host gives up the oldest.`;
    Journal.to(logger).warn("LEASEHOLD_OCCURRENCES_WAIT", "warn", text, { name, waiting: this.#all.length });
  }
}
