import type { AcceptedWrite, SeededRandom, SimulatedRecordService } from "@leasehold/core/testing";

/** The share of the faults of a run that befall this member. */
const SHARE = 0.4;
/** The share of the faults of a run that begin the staged schedule. */
const STAGES = 0.15;
/** The share of the cuts that end with a failover. After the others the replica has caught up. */
const FAILOVERS = 0.7;

/**
 * A member whose replica is cut off at times. Its store then shows writes and does not acknowledge them, and a failover undoes
 * them. It reports each write once the write is durable.
 */
export class UndurableMember {
  readonly name: string;
  readonly #random: SeededRandom;
  /** The writes that a failover would undo, each as a report of it. */
  #pending: Array<() => void> = [];
  #service: SimulatedRecordService | undefined;

  constructor(name: string, random: SeededRandom) {
    this.name = name;
    this.#random = random;
  }

  /** Reports the writes of the member's store, each once it is durable. */
  watch(service: SimulatedRecordService, onDurable: (write: AcceptedWrite) => void): void {
    this.#service = service;
    service.onAccepted = (write) => {
      if (service.acknowledges) onDurable(write);
      else this.#pending.push(() => onDurable(write));
    };
  }

  /** Reports whether the staged schedule is played now. */
  stages(): boolean {
    return this.#random.chance(STAGES);
  }

  /** Cuts the replica off, or ends that. Returns what happened, or `undefined` if nothing did. */
  befall(): string | undefined {
    if (!this.#random.chance(SHARE)) return undefined;
    if (!this.#service?.acknowledges) return this.mend();
    this.cutOff();
    return "acknowledges no write";
  }

  cutOff(): void {
    this.#service?.cutOff();
  }

  /** Ends a cut: by a failover, or because the replica has caught up. Returns what happened, or `undefined` if nothing did. */
  mend(): string | undefined {
    if (this.#service?.acknowledges !== false) return undefined;
    if (this.#random.chance(FAILOVERS)) return this.failOver();
    const writes = this.#pending;
    this.#pending = [];
    this.#service.rejoin();
    for (const report of writes) report();
    return "has its replica back";
  }

  /** Makes the replica take over without the pending writes. */
  failOver(): string {
    this.#pending = [];
    this.#service?.failOver(0);
    return "loses what it has not acknowledged";
  }
}
