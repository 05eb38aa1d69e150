import type { Lease } from "@leasehold/core/provider";
import type { SeededRandom, VirtualClock } from "@leasehold/core/testing";
import type { VotingLeaseStore } from "../src/simulation.ts";
import type { LedTerm, VotersJudge } from "./voters-judge.ts";
import type { Host, VotersWorld } from "./voters-world.ts";

export const ELECTION = "e";
/** The number of times that a server claims, or a leader renews, in succession. And the longest wait between two claims. */
const TRIES = 5;
const RETRY_MS = 500;
/** The last one is longer than any claim may count votes. */
const TIMEOUTS_MS = [300, 300, 1_000, 15_000];

/** Gives the servers their requests, and tells the judge the outcomes. */
export class VotersClaimants {
  readonly #random: SeededRandom;
  readonly #time: VirtualClock;
  readonly #world: VotersWorld;
  readonly #judge: VotersJudge;
  readonly #leaseMs: number;
  readonly #note: (who: string, what: string) => void;
  readonly #holders = new Map<LedTerm, Host>();
  /** The hosts whose order to break has no outcome yet. */
  readonly #breaking: Host[] = [];

  constructor(options: {
    readonly random: SeededRandom;
    readonly time: VirtualClock;
    readonly world: VotersWorld;
    readonly judge: VotersJudge;
    /** The lease of most claims. */
    readonly leaseMs: number;
    readonly note: (who: string, what: string) => void;
  }) {
    this.#random = options.random;
    this.#time = options.time;
    this.#world = options.world;
    this.#judge = options.judge;
    this.#leaseMs = options.leaseMs;
    this.#note = options.note;
  }

  /** The leader with the latest valid term. */
  get leader(): { readonly ledTerm: LedTerm; readonly host: Host } | undefined {
    const ledTerm = this.#judge.ledTerms.at(-1);
    const host = ledTerm && this.#holders.get(ledTerm);
    return host && { ledTerm, host };
  }

  /** An order to break may still hit a later term. */
  get isBreaking(): boolean {
    return this.#breaking.some(({ clock }) => clock.alive);
  }

  claim(name: string): void {
    const host = this.#world.running(name);
    if (host) void this.#claim(host, TRIES);
  }

  /** Claims, and claims again as soon as it may win, `tries` times in all. */
  async #claim(host: Host, tries: number): Promise<void> {
    const { name, store, clock } = host;
    const leaseDurationMs = this.#leaseMs * this.#random.pick([0.4, 1, 1, 2]);
    const timeoutMs = this.#timeoutMs;
    this.#note(name, `claims, for ${leaseDurationMs} ms, within ${timeoutMs} ms`);
    const request = { election: ELECTION, candidateId: name, leaseDurationMs, renewIntervalMs: leaseDurationMs / 3, timeoutMs };
    const outcome = await store.acquire(request).catch(() => undefined);
    if (outcome?.acquired) clock.deliver(() => this.#wins(host, outcome.lease));
    else if (tries > 1) clock.setTimer(() => void this.#claim(host, tries - 1), store.nextLookMs(ELECTION, RETRY_MS));
  }

  #wins(host: Host, lease: Lease): void {
    const ledTerm = this.#judge.wins(lease, host.clock, host.rate);
    this.#note(host.name, `wins term ${lease.term}${ledTerm ? "" : ", too late"}`);
    if (ledTerm) {
      this.#holders.set(ledTerm, host);
      if (this.#random.chance(0.7)) this.#renewInTime(ledTerm, TRIES);
    } else {
      // The win came too late, so the lease is released.
      host.store.release(lease, { timeoutMs: this.#timeoutMs }).catch(() => undefined);
    }
  }

  /** Renews in time, `times` times. */
  #renewInTime(ledTerm: LedTerm, times: number): void {
    if (times === 0) return;
    const renew = (): void => {
      if (this.#judge.ledTerms.includes(ledTerm)) void this.renew(ledTerm);
      this.#renewInTime(ledTerm, times - 1);
    };
    ledTerm.clock.setTimer(renew, ledTerm.lease.leaseDurationMs / 3);
  }

  /** Every leader renews, once more than it has to. */
  renewAll(): void {
    for (const ledTerm of this.#judge.ledTerms) void this.renew(ledTerm);
  }

  /** Reports whether the lease counts from a later time now. */
  async renew(ledTerm: LedTerm): Promise<boolean> {
    const host = this.#holders.get(ledTerm);
    if (!host?.clock.running) return false;
    const askedMs = this.#time.monotonicMs();
    const outcome = await host.store.renew(ledTerm.lease, { timeoutMs: this.#timeoutMs }).catch(() => undefined);
    const { extendedAt, transferTo } = outcome?.held === true ? outcome : {};
    if (transferTo !== undefined && !this.#world.isCalm && this.#random.chance(0.5)) this.#drains(ledTerm);
    if (extendedAt) host.clock.deliver(() => this.#judge.renewed(ledTerm, extendedAt, askedMs));
    return extendedAt !== undefined;
  }

  /** The leader was asked for a transfer, and releases before long. */
  #drains(ledTerm: LedTerm): void {
    ledTerm.clock.setTimer(() => this.#release(ledTerm, 0), this.#random.between(0, 1) * this.#leaseMs);
  }

  /** The leader releases, perhaps with a hold. */
  release(): void {
    const { ledTerm } = this.leader ?? {};
    if (ledTerm) this.#release(ledTerm, this.#random.pick([0, 0, 1, 2]) * this.#leaseMs);
  }

  #release(ledTerm: LedTerm, holdMs: number): void {
    const host = this.#holders.get(ledTerm);
    if (!host?.clock.running || !this.#judge.ledTerms.includes(ledTerm)) return;
    this.#note(host.name, `releases term ${ledTerm.lease.term}, with a hold of ${holdMs} ms`);
    this.#judge.gives(ledTerm);
    const sentMs = this.#time.monotonicMs();
    const released = (outcome: string): void => {
      if (outcome === "released") this.#judge.released(ledTerm, sentMs, holdMs);
    };
    host.store.release(ledTerm.lease, { timeoutMs: this.#timeoutMs, holdMs }).then(released, () => undefined);
  }

  /** Orders to break the term that the order finds. */
  break(name: string): void {
    const host = this.#world.running(name);
    if (!host) return;
    const immediate = this.#random.chance(0.3);
    this.#note(name, `gives the order to break${immediate ? " at once" : ""}`);
    const told = (outcome: Awaited<ReturnType<VotingLeaseStore["break"]>>): void => {
      if (outcome.broken) this.#judge.breaks(outcome.term);
      this.#note(name, outcome.broken ? `has broken term ${outcome.term}` : "has broken nothing");
    };
    this.#breaking.push(host);
    const order = host.store.break(ELECTION, { reason: "why not", immediate, timeoutMs: this.#timeoutMs });
    void order.then(told, () => undefined).finally(() => this.#breaking.splice(this.#breaking.indexOf(host), 1));
  }

  /** Orders to transfer the term that the order finds to this candidate. */
  transfer(name: string, candidateId: string): void {
    const host = this.#world.running(name);
    if (!host) return;
    const transferTimeoutMs = this.#random.pick([0.3, 1, 4]) * this.#leaseMs;
    this.#note(name, `orders a transfer to ${candidateId}, for ${transferTimeoutMs} ms`);
    const options = { transferTimeoutMs, timeoutMs: this.#timeoutMs };
    const told = (outcome: string): void => this.#note(name, `learns of the transfer to ${candidateId}: ${outcome}`);
    void host.store.transfer(ELECTION, candidateId, options).then(told, () => undefined);
  }

  get #timeoutMs(): number {
    return this.#random.pick(TIMEOUTS_MS);
  }
}
