import { isLeaseholdError, type LeaseSnapshot, type StoreError } from "@leasehold/core";
import type { BreakOptions } from "@leasehold/core/provider";
import { Line } from "./line.ts";
import { LAST_ARRIVALS_MS } from "./network.ts";
import { ELECTION, transferMark } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** An order whose reply is lost is repeated after a pause, a read and a write. */
const AGAIN_MS = 1_000;

/** The beginning of the reason of each break. */
const BREAK = "order ";

/** A candidate that never comes. */
export const NOBODY = "nobody";

/** An administrator's order in the service, and the result of its call. */
interface Order {
  /** The mark by which the record shows the order. */
  readonly mark: string;
  readonly toNobody: boolean;
  readonly line: Line;
  /** The terms on which it was carried out. */
  readonly terms: Set<number>;
  carriedOutMs: number | undefined;
  /** True if it was carried out while no write was acknowledged. */
  unacknowledged: boolean;
  /** True if no write was acknowledged for a time since the order. Its call then lacked more replies than the network lost. */
  lackedReply: boolean;
  /** True if its call has reported that it was carried out. */
  told: boolean;
  /** True if its call has reported that it was not carried out, and will not be. */
  denied: boolean;
}

/** The orders of administrators. Each comes from a process of its own, whose requests have the same faults as all others. */
export class Orders {
  readonly #world: World;
  readonly #orders: Order[] = [];

  constructor(world: World) {
    this.#world = world;
    world.store.view.ordered = (mark, term) => this.#carriedOut(mark, term);
  }

  /** The time limit of each request of an order. */
  get timeoutMs(): number {
    return this.#world.plan.timing.leaseDurationMs / 6;
  }

  /** The time after the beginning of the calm in which an earlier order may be repeated, and be carried out. */
  get lastMs(): number {
    return LAST_ARRIVALS_MS + this.timeoutMs + AGAIN_MS;
  }

  /** @param onRefused gets the state that the answer shows, if there was nothing to break. */
  break(
    options: Pick<BreakOptions, "immediate" | "ifTerm">,
    onRefused: (current: LeaseSnapshot | undefined) => void = () => undefined,
  ): void {
    const { referee } = this.#world;
    const order = this.#order("breaks", (index) => `${BREAK}${index}`);
    const { timeoutMs } = this;
    const settled = options.immediate ? referee.exempt() : (): void => {};
    void order.line.access.store.break(ELECTION, { ...options, reason: order.mark, timeoutMs }).then(
      (outcome) => {
        settled(outcome.broken ? outcome.term : undefined);
        this.#settled(order, outcome.broken ? `broke term ${outcome.term}` : "broke nothing");
        order.told = outcome.broken;
        if (!outcome.broken) {
          this.#denies(order);
          onRefused(outcome.current);
        } else if (!this.#isClosed(outcome.term)) this.#lies(order, `term ${outcome.term} is broken`);
      },
      (error: unknown) => {
        settled();
        this.#settled(order, String(error));
        this.#failed(order, error);
      },
    );
  }

  transfer(candidateId: string, transferTimeoutMs: number): void {
    // The time-out identifies this order.
    const order = this.#order(`hands over to ${candidateId}`, () => transferMark(transferTimeoutMs), candidateId === NOBODY);
    void order.line.access.store.transfer(ELECTION, candidateId, { transferTimeoutMs, timeoutMs: this.timeoutMs }).then(
      (outcome) => {
        this.#settled(order, outcome);
        if (outcome === "lost" && order.terms.size === 0) this.#denies(order);
      },
      (error: unknown) => {
        this.#settled(order, String(error));
        const leasesMs = this.#world.plan.candidates.map(({ leaseDurationMs }) => leaseDurationMs);
        const patienceMs = Math.min(...leasesMs) + transferTimeoutMs;
        // An order that was carried out is awaited, even if polls fail meanwhile.
        const waitedMs = this.#world.nowMs - (order.carriedOutMs ?? this.#world.nowMs);
        if (waitedMs < patienceMs) this.#failed(order, error);
      },
    );
  }

  /** Undoes a transfer to a candidate that never comes, once all earlier orders have been carried out. */
  calmDown(): void {
    const isToNobody = this.#world.plan.mishaps.some((mishap) => mishap.kind === "transfer" && mishap.to === NOBODY);
    if (isToNobody) this.#world.time.setTimer(() => this.#undo(), this.lastMs);
  }

  /** From now on no write is acknowledged. */
  cutOff(): void {
    for (const order of this.#orders) order.lackedReply = true;
  }

  /**
   * Orders that were carried out while no write was acknowledged are undone. Their calls do not know that they were carried out.
   */
  rolledBack(): void {
    for (const order of this.#orders) {
      if (!order.unacknowledged) continue;
      if (order.told) this.#lies(order, "it was carried out, and a failover has undone it");
      order.terms.clear();
      order.carriedOutMs = undefined;
      order.unacknowledged = false;
    }
  }

  /** The replica has caught up, so orders that were carried out meanwhile are final. */
  acknowledged(): void {
    for (const order of this.#orders) order.unacknowledged = false;
  }

  #undo(): void {
    const { highestTerm } = this.#world.referee;
    const isUnderWay = this.#orders.some(({ toNobody, terms }) => toNobody && (terms.has(highestTerm) || !this.#isSeen));
    if (!isUnderWay) return;
    // A blob may be transferred before the first leader. Then there is no term to name.
    this.break(highestTerm > 0 ? { ifTerm: highestTerm } : {}, (current) => this.#undoLater(highestTerm, current));
  }

  /**
   * The transfer may stand at a later term than the last one with a leader: the term of a claim that failed. The refused break
   * shows it, and an administrator names that term.
   */
  #undoLater(term: number, current: LeaseSnapshot | undefined): void {
    if (!current || current.term <= term) return;
    if (current.bar?.kind === "transfer" && current.bar.candidateId === NOBODY) this.break({ ifTerm: current.term });
  }

  #order(what: string, markOf: (index: number) => string, toNobody = false): Order {
    const index = this.#orders.length + 1;
    const line = new Line(this.#world, `operator${index}`, {}, true);
    const order: Order = {
      mark: markOf(index),
      toNobody,
      line,
      terms: new Set<number>(),
      carriedOutMs: undefined,
      unacknowledged: false,
      lackedReply: this.#world.store.isCutOff === true,
      told: false,
      denied: false,
    };
    this.#orders.push(order);
    this.#world.note(line.id, what);
    return order;
  }

  #carriedOut(mark: string, term: number): void {
    const order = this.#orders.find((each) => each.mark === mark);
    if (!order) return;
    this.#world.note("service", `carries out '${mark}' on term ${term}`);
    order.terms.add(term);
    order.unacknowledged ||= this.#world.store.isCutOff === true;
    if (mark.startsWith(BREAK)) this.#world.referee.broken(term);
    order.carriedOutMs ??= this.#world.nowMs;
    if (order.terms.size > 1) this.#violate(order, `it has hit the terms ${[...order.terms].join(" and ")}`);
    if (order.denied) this.#lies(order, "it was not carried out");
  }

  /** True if the records show which order is carried out. */
  get #isSeen(): boolean {
    return this.#world.plan.store.startsWith("records");
  }

  /** A call that fails with an unknown outcome says so. One lost reply is not a reason for that. */
  #failed(order: Order, error: unknown): void {
    const isUnknown = isLeaseholdError(error) && (error as StoreError).mayHaveBeenApplied;
    if (!isUnknown) return this.#denies(order);
    const { troubles } = order.line;
    const [only] = troubles;
    const wasReply = only?.operation === "put" && only.fault === "losesReply";
    if (wasReply && troubles.length === 1 && !order.lackedReply)
      this.#violate(order, "one reply was lost, and its call fails without looking for it");
  }

  /** Its call says that it was not carried out. So it must not be carried out later either. */
  #denies(order: Order): void {
    order.denied = true;
    if (order.terms.size > 0 && !this.#isBeyondTelling(order)) this.#lies(order, "it was not carried out");
  }

  /** A write that arrived twice may be refused because of its own first copy. After its term a poll shows nothing of it. */
  #isBeyondTelling({ line, terms }: Order): boolean {
    const { highestTerm } = this.#world.referee;
    return line.troubles.some(({ fault }) => fault === "twice") && [...terms].every((term) => term < highestTerm);
  }

  #isClosed(term: number): boolean {
    const { referee, store } = this.#world;
    return term < referee.highestTerm || !store.held || this.#orders.some(({ terms }) => terms.has(term));
  }

  #settled(order: Order, what: string): void {
    this.#world.note(order.line.id, what);
  }

  #lies(order: Order, what: string): void {
    this.#violate(order, `its call says that ${what}`);
  }

  #violate({ line, mark }: Order, what: string): void {
    const { referee } = this.#world;
    // A corrupted record shows nothing.
    if (!this.#isSeen || referee.wasSpoilt) return;
    referee.violate("orders-are-told", `${line.id} ('${mark}'): ${what}`);
  }
}
