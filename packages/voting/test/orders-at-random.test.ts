/** What the simulation does not draw for servers that vote: breaks and holds, with messages that are late and servers that lose their disks. */
import { expect, test } from "vitest";
import { SAFETY_MARGIN, sleep, type Lease } from "@leasehold/core/provider";
import { SeededRandom } from "@leasehold/core/testing";
import { VotingLeaseStore, type Answer, type Envelope, type Request } from "../src/simulation.ts";
import { Cluster } from "./cluster.ts";

const LEASE_MS = 3_000;
const HOLD_MS = 6_000;
const LIMITS = { timeoutMs: 300 };
const REQUEST = { election: "e", candidateId: "c", leaseDurationMs: LEASE_MS, renewIntervalMs: 1_000, ...LIMITS };

/** Servers, whoever leads among them, and what it has been promised. */
class Ordered extends Cluster {
  readonly counts = { terms: 0, renewals: 0, breaks: 0, holds: 0 };
  readonly #random: SeededRandom;
  #leader: { readonly name: string; readonly store: VotingLeaseStore; readonly lease: Lease; untilMs: number } | undefined;
  #lastTerm = 0;
  /** Nobody else may lead before then. */
  #barredUntilMs = -Infinity;
  #brokenTerm = 0;

  constructor(random: SeededRandom) {
    super(3);
    this.#random = random;
  }

  /** Some messages arrive late, and once more. */
  protected override async carry(message: Envelope<Request>): Promise<Envelope<Answer> | undefined> {
    if (!this.#random.chance(message.content.kind === "RELEASE" ? 0.6 : 0.1)) return await super.carry(message);
    const { clock } = this;
    const again = sleep(clock, this.#random.pick([500, 2_000, 6_000])).then(() => super.carry(message));
    return this.#random.chance(0.5) ? await again : await super.carry(message);
  }

  get #nowMs(): number {
    return this.clock.monotonicMs();
  }

  async claim(): Promise<void> {
    const rivals = this.#random.chance(0.4) ? this.names : [this.#random.pick(this.names)];
    const claims = rivals.map(async (name) => {
      const store = new VotingLeaseStore(this.server(name));
      const outcome = await store.acquire(REQUEST).catch(() => undefined);
      return outcome?.acquired ? [{ name, store, lease: outcome.lease }] : [];
    });
    const won = (await this.clock.runUntil(Promise.all(claims))).flat();
    for (const { name, store, lease } of won.toSorted((one, other) => one.lease.term - other.lease.term)) {
      expect(lease.term).toBeGreaterThan(this.#lastTerm);
      expect(lease.grantedAt.monotonicMs).toBeGreaterThanOrEqual(this.#barredUntilMs);
      this.counts.terms += 1;
      this.#lastTerm = lease.term;
      this.#leader = { name, store, lease, untilMs: 0 };
      this.#extends(lease.grantedAt.monotonicMs);
    }
  }

  async renew(): Promise<void> {
    const leader = this.#leader;
    // Whoever's lease is over sends nothing more.
    if (!leader || leader.untilMs <= this.#nowMs) return;
    const outcome = await this.clock.runUntil(leader.store.renew(leader.lease, LIMITS).catch(() => undefined));
    if (!outcome?.held || !outcome.extendedAt) return;
    expect(leader.lease.term).not.toBe(this.#brokenTerm);
    this.counts.renewals += 1;
    this.#extends(outcome.extendedAt.monotonicMs);
  }

  async release(): Promise<void> {
    const leader = this.#leader;
    if (!leader || leader.untilMs <= this.#nowMs) return;
    this.#leader = undefined;
    const holdMs = this.#random.pick([0, HOLD_MS]);
    const sentMs = this.#nowMs;
    const outcome = await this.clock.runUntil(leader.store.release(leader.lease, { ...LIMITS, holdMs }).catch(() => "unknown"));
    const isHeld = outcome === "released" && holdMs > 0 && leader.lease.term !== this.#brokenTerm;
    if (isHeld) this.counts.holds += 1;
    this.#barredUntilMs = isHeld ? sentMs + holdMs : -Infinity;
  }

  async break(): Promise<void> {
    const store = new VotingLeaseStore(this.server(this.#random.pick(this.names)));
    const immediate = this.#random.chance(0.3);
    const order = store.break("e", { reason: "why not", immediate, ...LIMITS });
    const outcome = await this.clock.runUntil(order.catch(() => undefined));
    if (outcome?.broken) {
      this.counts.breaks += 1;
      this.#brokenTerm = outcome.term;
    }
    // One that came to nothing may have come about in part.
    const hasLeader = this.#leader !== undefined && this.#leader.untilMs > this.#nowMs;
    if (outcome?.broken !== false && (immediate || !hasLeader)) this.#barredUntilMs = -Infinity;
  }

  /** With its disk, or without where nobody else is amiss. */
  async restart(): Promise<void> {
    const name = this.#random.pick(this.names);
    const areAllThere = this.away.size === 0 && this.names.every((each) => this.server(each).takesPart);
    await this.server(name).close();
    if (areAllThere && this.#random.chance(0.4)) this.disks.delete(name);
    if (this.#leader?.name === name) {
      this.#leader = undefined;
      this.#barredUntilMs = -Infinity;
    }
    this.startOne(name);
  }

  #extends(fromMs: number): void {
    const untilMs = fromMs + LEASE_MS * (1 - SAFETY_MARGIN);
    if (this.#leader) this.#leader.untilMs = untilMs;
    this.#barredUntilMs = untilMs;
  }
}

test.each(Array.from({ length: 40 }, (_, index) => index + 1))(
  "terms rise, no two lead at once, none that was broken goes on, and nobody leads during a hold: seed %i",
  async (seed) => {
    const random = new SeededRandom(seed);
    const cluster = new Ordered(random);
    await cluster.start();
    for (let step = 0; step < 500; step += 1) {
      const what = random.next();
      if (what < 0.3) await cluster.claim();
      else if (what < 0.5) await cluster.renew();
      else if (what < 0.6) await cluster.release();
      else if (what < 0.7) await cluster.break();
      else if (what < 0.78) await cluster.restart();
      else if (what < 0.85) cluster.away.add(random.pick(cluster.names));
      else cluster.away.clear();
      await cluster.clock.advance(random.pick([1, 10, 300, 1_000]));
    }
    for (const count of Object.values(cluster.counts)) expect(count).toBeGreaterThan(0);
  },
);
