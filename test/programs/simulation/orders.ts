import { isLeaseholdError, type BreakOptions, type LeaseSnapshot, type StoreError } from "@leasehold/core";
import { Line } from "./line.ts";
import { LAST_ARRIVALS_MS } from "./network.ts";
import { ELECTION, transferMark } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** An order whose reply is lost is given again after a pause, a look and a write. */
const AGAIN_MS = 1_000;

/** What the reason of each break begins with. */
const BREAK = "order ";

/** A candidate that never comes. */
export const NOBODY = "nobody";

/** What the service has of an order of an administrator's, and what became of its call. */
interface Order {
  /** By which it is known in the record. */
  readonly mark: string;
  readonly toNobody: boolean;
  readonly line: Line;
  /** The terms that it was carried out on. */
  readonly terms: Set<number>;
  carriedOutMs: number | undefined;
  /** It was carried out while no write was acknowledged. */
  unacknowledged: boolean;
  /** No write was acknowledged for a time since it was given: its call lacked more replies than the network lost. */
  lackedReply: boolean;
  /** Its call has said that it was carried out. */
  told: boolean;
  /** Its call has said that it was not carried out, and will not be. */
  denied: boolean;
}

/** The orders of administrators, each from a process of its own whose requests fare like everybody's. */
export class Orders {
  readonly #world: World;
  readonly #orders: Order[] = [];

  constructor(world: World) {
    this.#world = world;
    world.store.view.ordered = (mark, term) => this.#carriedOut(mark, term);
  }

  /** How long each request of an order may take. */
  get timeoutMs(): number {
    return this.#world.plan.timing.leaseDurationMs / 6;
  }

  /** For how long after the calm has begun what was ordered before may be given once more, and be carried out. */
  get lastMs(): number {
    return LAST_ARRIVALS_MS + this.timeoutMs + AGAIN_MS;
  }

  /** @param onRefused receives what the answer shows, where there was nothing to break. */
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
        settled();
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
    // The time-out tells this order from any other.
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
        // One that is carried out is waited for, whatever becomes of the looks on the way.
        const waitedMs = this.#world.nowMs - (order.carriedOutMs ?? this.#world.nowMs);
        if (waitedMs < patienceMs) this.#failed(order, error);
      },
    );
  }

  /** A hand-over to somebody who never comes is undone, once all that was ordered before has been carried out. */
  calmDown(): void {
    const isToNobody = this.#world.plan.mishaps.some((mishap) => mishap.kind === "transfer" && mishap.to === NOBODY);
    if (isToNobody) this.#world.time.setTimer(() => this.#undo(), this.lastMs);
  }

  /** From now on no write is acknowledged. */
  cutOff(): void {
    for (const order of this.#orders) order.lackedReply = true;
  }

  /** What was carried out while no write was acknowledged is undone. Its call does not know that it was carried out. */
  rolledBack(): void {
    for (const order of this.#orders) {
      if (!order.unacknowledged) continue;
      if (order.told) this.#lies(order, "it was carried out, and a failover has undone it");
      order.terms.clear();
      order.carriedOutMs = undefined;
      order.unacknowledged = false;
    }
  }

  /** The replica has caught up: what was carried out meanwhile stands for good. */
  acknowledged(): void {
    for (const order of this.#orders) order.unacknowledged = false;
  }

  #undo(): void {
    const { highestTerm } = this.#world.referee;
    const isUnderWay = this.#orders.some(({ toNobody, terms }) => toNobody && (terms.has(highestTerm) || !this.#isSeen));
    if (!isUnderWay) return;
    // A blob may be handed over that nobody has led on: then there is no term to name.
    this.break(highestTerm > 0 ? { ifTerm: highestTerm } : {}, (current) => this.#undoLater(highestTerm, current));
  }

  /**
   * The transfer may stand at a later term than the last that anybody led on: that of a claim which came to nothing. The refused
   * break says so, and an administrator names that term.
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

  /** Anybody here sees which order is carried out. */
  get #isSeen(): boolean {
    return this.#world.plan.store.startsWith("records");
  }

  /** A call that fails without being able to tell says so; one lost reply is no reason. */
  #failed(order: Order, error: unknown): void {
    const isUnknown = isLeaseholdError(error) && (error as StoreError).mayHaveBeenApplied;
    if (!isUnknown) return this.#denies(order);
    const { troubles } = order.line;
    const [only] = troubles;
    const wasReply = only?.operation === "put" && only.fault === "losesReply";
    if (wasReply && troubles.length === 1 && !order.lackedReply)
      this.#violate(order, "one reply was lost, and its call fails without looking for it");
  }

  /** Its call says that it was not carried out: then it is not later, either. */
  #denies(order: Order): void {
    order.denied = true;
    if (order.terms.size > 0 && !this.#isBeyondTelling(order)) this.#lies(order, "it was not carried out");
  }

  /** A write that arrived twice may be refused for what it wrote itself, and of a term that is over no look tells any more. */
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
    // A record that was spoilt tells nobody anything.
    if (!this.#isSeen || referee.wasSpoilt) return;
    referee.violate("orders-are-told", `${line.id} ('${mark}'): ${what}`);
  }
}
