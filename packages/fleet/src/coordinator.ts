// The coordinator: the holder of the head. Each round reads the slots, computes the next plan and swaps it in.

import { LeaseholdError } from "@leasehold/core";
import type { FleetTotals } from "@leasehold/core/diagnostics";
import type { Lease } from "@leasehold/core/provider";
import { Crowd } from "./crowd.ts";
import type { FleetRecords, StoredPlan } from "./fleet-records.ts";
import type { FleetSettings } from "./fleet-options.ts";
import type { FleetReporter } from "./fleet-reporter.ts";
import { encodeHead } from "./head.ts";
import type { Plan, Seen } from "./plan.ts";
import { Returns } from "./returns.ts";
import { revise, type Revision } from "./revise.ts";
import { SlotWatch } from "./slot-watch.ts";

/** After so many failed rounds a coordinator lets the other members try. */
const MAX_FAILURES = 3;
/** The least time between two revisions. Terms rise by one a second at most, and so stay below the Unix time of a new plan. */
const REVISION_MS = 1_000;
/** A heartbeat or a renewal of the head is due at this part of its interval. */
const DUE = 0.9;
/** Lists that differ for so many times `settleMs` are a problem. */
const LONG = 10;

/** The work of one coordinator, from its acquisition of the head until it gives it up. */
class Office {
  readonly lease: Lease;
  readonly sinceMs: number;
  readonly crowd: Crowd;
  readonly watch: SlotWatch;
  readonly returns = new Returns();
  /** The value of the head, and when it was written. */
  told: string;
  toldMs: number;
  /** When the plan was written. */
  revisedMs = -Infinity;
  failures = 0;
  /** Since when the lists of the members differ. */
  differMs: number | undefined;
  /** Since when the plan is being reset. */
  resetMs: number | undefined;

  constructor(settings: FleetSettings, records: FleetRecords, lease: Lease, told: string) {
    const nowMs = settings.clock.monotonicMs();
    this.lease = lease;
    this.sinceMs = nowMs;
    this.crowd = new Crowd(settings, nowMs);
    this.watch = new SlotWatch(settings, records);
    this.told = told;
    this.toldMs = nowMs;
  }
}

export class Coordinator {
  readonly #settings: FleetSettings;
  readonly #records: FleetRecords;
  readonly #reporter: FleetReporter;
  #office: Office | undefined;
  /** The plan, once a write of this coordinator has been acknowledged. */
  #stored: StoredPlan | undefined;
  #isBusy = false;
  #standsBackUntilMs = -Infinity;

  constructor(settings: FleetSettings, records: FleetRecords, reporter: FleetReporter) {
    this.#settings = settings;
    this.#records = records;
    this.#reporter = reporter;
  }

  get isActive(): boolean {
    return this.#office !== undefined;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** The plan as this coordinator has written it; `undefined` until a write was acknowledged. */
  get plan(): Plan | undefined {
    return this.#stored?.plan;
  }

  /** The whole fleet; `undefined` until a write of the plan was acknowledged. */
  get totals(): FleetTotals | undefined {
    return this.#stored && totalsOf(this.#stored);
  }

  /** True while this process does not compete for the head, because its rounds have failed. */
  get standsBack(): boolean {
    return this.#settings.clock.monotonicMs() < this.#standsBackUntilMs;
  }

  /** The time until something is due that no member reports: the end of a rest. */
  get dueInMs(): number {
    return this.#office?.returns.nextEndMs(this.#settings.clock.monotonicMs()) ?? Infinity;
  }

  /** Makes one attempt to take the head. @param known the highest revision that this process knows. */
  async take(known: number): Promise<void> {
    const { store, names, memberId, timing } = this.#settings;
    const { leaseDurationMs, renewIntervalMs, attemptTimeoutMs: timeoutMs } = timing;
    const value = encodeHead({ revision: known, id: "", isBusy: true, members: 0, bytes: 0 });
    const request = { election: names.head, candidateId: memberId, value, leaseDurationMs, renewIntervalMs, timeoutMs };
    const outcome = await store.acquire(request);
    if (!outcome.acquired) return;
    this.#office = new Office(this.#settings, this.#records, outcome.lease, value);
    this.#stored = undefined;
    this.#isBusy = true;
    this.#settings.list.forget();
    this.#reporter.emit("coordinating", { term: outcome.lease.term });
  }

  /** Gives the head up, so that another member can take it at once. */
  async resign(): Promise<void> {
    const office = this.#office;
    if (!office) return;
    this.#leaveOffice();
    const { store, timing } = this.#settings;
    await store.release(office.lease, { timeoutMs: timing.attemptTimeoutMs }).catch(() => undefined);
  }

  #leaveOffice(): void {
    this.#office = undefined;
    this.#stored = undefined;
    this.#isBusy = false;
  }

  /**
   * Does one round. After three failures in a row it gives the head up.
   * @param known the highest revision that this process knows.
   */
  async round(known: number): Promise<void> {
    const office = this.#office;
    if (!office) return;
    try {
      await this.#round(office, known);
      office.failures = 0;
    } catch (error) {
      office.failures += 1;
      if (office.failures >= MAX_FAILURES && this.#office === office) {
        const { clock, timing } = this.#settings;
        if (!office.crowd.isAlone) this.#standsBackUntilMs = clock.monotonicMs() + 2 * timing.leaseDurationMs;
        await this.resign();
      }
      throw error;
    }
  }

  async #round(office: Office, known: number): Promise<void> {
    const { clock, timing } = this.#settings;
    const nowMs = clock.monotonicMs();
    const isNew = nowMs - office.sinceMs < timing.leaseDurationMs + timing.renewIntervalMs;
    const { seen, isSuspicious, leaseMs } = await office.watch.look(isNew);
    const { plan: old, version } = await this.#plan(seen, known);
    this.#reporter.problem("reset", this.#unfinished(office, old, nowMs));
    office.crowd.note(seen, version === undefined ? undefined : old, nowMs);
    await this.#refreshList(old);
    const crowd = office.crowd.at(nowMs);
    const over = await office.watch.over(old, seen);
    const wishes = { ...office.returns.at(nowMs), ...crowd, over, leaseMs, shards: this.#shards(office, old, seen) };
    const next = revise(old, seen, wishes);
    this.#reporter.problem("room", next.isFull ? fullPlan(this.#settings.names.fleet) : undefined);
    const mayRevise = nowMs - office.revisedMs >= REVISION_MS && !old.isResetting && !(version === undefined && crowd.gathering);
    if (next.changed && mayRevise) await this.#swap(office, next, version, nowMs);
    this.#isBusy = next.busy || isSuspicious || (next.changed && !mayRevise) || version === undefined;
    office.crowd.told(this.#isBusy, nowMs);
    await this.#tell(office, known, nowMs);
    if (this.#stored) await office.watch.endDeaf(this.#stored.plan, seen);
  }

  /**
   * Returns the plan to revise. A plan that was only read is written once more as it is. Once that write is acknowledged, no
   * failover undoes the plan, and no swap of an earlier coordinator succeeds.
   * @throws for a plan that is gone, or lower than any process knows: nobody changes it then.
   */
  async #plan(seen: Seen, known: number): Promise<{ plan: Plan; version: string | undefined }> {
    const highest = Math.max(known, this.#records.told, ...[...seen.values()].map(({ report }) => report?.applied ?? 0));
    if (this.#stored && this.#stored.plan.revision >= highest) return this.#stored;
    this.#stored = undefined;
    const found = await this.#records.readPlan(true);
    if ((found?.plan.revision ?? 0) < highest) throw lostPlan(this.#settings.names.fleet, found?.plan.revision, highest);
    if (!found) return { plan: this.#firstPlan(), version: undefined };
    const written = await this.#records.writePlan(found.plan, found.version);
    if (!written) throw new Error(`Another process wrote the plan of '${this.#settings.names.fleet}' at the same time.`);
    this.#stored = written;
    return written;
  }

  /** A plan that is made where there is none begins at the Unix time. So terms rise even after everything was deleted. */
  #firstPlan(): Plan {
    const revision = Math.floor(this.#settings.clock.wallMs() / 1_000);
    return { revision, leaseMs: 0, fenced: false, members: new Map(), shards: new Map() };
  }

  async #refreshList({ shards }: Plan): Promise<void> {
    const { list, names } = this.#settings;
    try {
      if (await list.refresh([...shards.keys()], this.#settings)) this.#reporter.problem("answer", undefined);
    } catch (error) {
      this.#reporter.problem("answer", `The list of shards of '${names.fleet}' stays as it is: ${(error as Error).message}`);
    }
  }

  /** The own list counts once all sessions that are not over have an equal one. Until then the plan's shards stay. */
  #shards(office: Office, plan: Plan, seen: Seen): readonly string[] {
    const { list, clock } = this.#settings;
    const present = [...plan.shards.keys()];
    // A session that is shown as expired may live, because the list of members may lag.
    const isAgreed = [...seen.values()].every(({ report }) => !report || report.stopping || report.list === list.mark);
    office.differMs = isAgreed ? undefined : (office.differMs ?? clock.monotonicMs());
    this.#reporter.problem("lists", this.#difference(office));
    return (isAgreed || present.length === 0 ? list.list : undefined) ?? present;
  }

  /** Says that the lists have differed for longer than a deploy takes. */
  #difference({ differMs }: Office): string | undefined {
    const { clock, settleMs, names } = this.#settings;
    const limitMs = LONG * settleMs;
    if (differMs === undefined || clock.monotonicMs() - differMs < limitMs) return undefined;
    const seconds = Math.round(limitMs / 1_000);
    return `Members of '${names.fleet}' have had different lists of shards for ${seconds} s. The shards stay as they are until all have the same list.`;
  }

  /** Says that a reset has lasted for longer than it takes. It was interrupted, then. */
  #unfinished(office: Office, { isResetting, leaseMs }: Plan, nowMs: number): string | undefined {
    const { names, timing } = this.#settings;
    office.resetMs = isResetting ? (office.resetMs ?? nowMs) : undefined;
    if (office.resetMs === undefined || nowMs - office.resetMs <= leaseMs + timing.renewIntervalMs) return undefined;
    return `A reset of '${names.fleet}' was not finished. Nobody is granted a shard until you reset the fleet again.`;
  }

  async #swap(office: Office, next: Revision, version: string | undefined, nowMs: number): Promise<void> {
    // Until the write is acknowledged, nothing is known of the plan.
    this.#stored = undefined;
    const written = await this.#records.writePlan(next.plan, version);
    if (!written) throw new Error(`Another process wrote the plan of '${this.#settings.names.fleet}' first.`);
    this.#stored = written;
    office.revisedMs = nowMs;
    for (const back of next.givenBack) this.#reporter.givenBack(back, office.returns.note(back, nowMs));
    if (next.moves > 0) this.#reporter.moved(next.moves);
  }

  /** Tells the members of the plan by the head, and renews it by the same write. */
  async #tell(office: Office, known: number, nowMs: number): Promise<void> {
    const { store, timing } = this.#settings;
    const revision = this.#stored?.plan.revision ?? known;
    const members = this.#stored?.plan.members.size ?? 0;
    const { id = "", bytes = 0 } = this.#stored ?? {};
    const value = encodeHead({ revision, id, isBusy: this.#isBusy, members, bytes });
    if (value === office.told && nowMs - office.toldMs < DUE * timing.renewIntervalMs) return;
    const limits = { timeoutMs: timing.attemptTimeoutMs };
    const isSame = value === office.told;
    const outcome = await (isSame ? store.renew(office.lease, limits) : store.publish(office.lease, value, limits));
    office.told = value;
    office.toldMs = nowMs;
    if (!outcome.held && this.#office === office) this.#leaveOffice();
  }
}

function totalsOf({ plan: { members, shards }, bytes }: StoredPlan): FleetTotals {
  const counts = new Map([...members.keys()].map((slot) => [slot, 0]));
  const totals = { held: 0, leaving: 0, free: 0 };
  for (const { slot, leaving } of shards.values()) {
    totals[slot === undefined ? "free" : leaving ? "leaving" : "held"] += 1;
    if (slot !== undefined) counts.set(slot, (counts.get(slot) ?? 0) + 1);
  }
  const imbalance = members.size === 0 ? 0 : Math.max(...counts.values()) - Math.min(...counts.values());
  return { members: members.size, ...totals, imbalance, planBytes: bytes };
}

function fullPlan(fleet: string): string {
  return (
    `The plan of the fleet '${fleet}' has no room for all members and shards. Those that do not fit wait until others are gone. ` +
    "Use fewer shards, shorter names or fewer members."
  );
}

function lostPlan(fleet: string, found: number | undefined, known: number): LeaseholdError {
  const shown = found === undefined ? "is gone" : `shows revision ${found}`;
  return new LeaseholdError(
    "TERM_REGRESSED",
    `The plan of the fleet '${fleet}' ${shown}, but a member has carried out revision ${known}. ` +
      "Members keep the shards that they have, and nobody is granted another one until the fleet is reset.",
    { election: fleet },
  );
}
