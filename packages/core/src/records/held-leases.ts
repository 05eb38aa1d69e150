import { ConfigurationError, isUnknown } from "../reporting/errors.ts";
import { conflict } from "../store/failed-request.ts";
import { shareLimits } from "../store/request.ts";
import type { Lease, ReleaseOptions, ReleaseOutcome, RenewOutcome, RequestLimits } from "../store/lease-store.ts";
import { instantOf, type Instant } from "../time/clock.ts";
import { transferTarget } from "./bars.ts";
import { Holding, type Found } from "./holding.ts";
import { isLost } from "./lost-record.ts";
import { vacate } from "./record-orders.ts";
import type { LeaseRecord } from "./record-store.ts";
import type { RecordCache } from "./record-cache.ts";
import { endTerm } from "./term-history.ts";

const CONFLICT_TRIES = 4;

type Lost = Extract<RenewOutcome, { held: false }>;

export interface Vacating extends ReleaseOptions {
  /** True where no candidate may ever acquire again. */
  readonly done?: true | undefined;
  readonly value?: string | undefined;
}

/** Renews, changes and vacates the leases that this process holds, by conditional writes of its own records. */
export class HeldLeases {
  readonly #seen: RecordCache;
  readonly #holdings = new WeakMap<Lease, Holding>();

  constructor(seen: RecordCache) {
    this.#seen = seen;
  }

  take(election: string, { record, version }: Found, grantedAt: Instant): Lease {
    // A record that this process wrote has a `candidateId` and a `termId`.
    const { candidateId, term, termId, leaseDurationMs } = record as LeaseRecord & Pick<Lease, "candidateId" | "termId">;
    const lease: Lease = { election, candidateId, term, termId, leaseDurationMs, grantedAt };
    this.#holdings.set(lease, new Holding({ record, version }, grantedAt));
    return lease;
  }

  /** Renews or publishes by one conditional write, on the same version as a lost one. So at most one of the two takes effect. */
  async write(lease: Lease, given: RequestLimits, change: (record: LeaseRecord) => LeaseRecord): Promise<RenewOutcome> {
    const { clock } = this.#seen;
    const holding = this.#holding(lease);
    const limits = shareLimits(clock, given);
    for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
      const gone = await this.#catchUp(lease, holding, limits);
      if (gone) return gone;
      const { broken } = holding.record;
      if (broken) return lost("broken", true, `an administrator broke it: ${broken.reason}`);
      const changed = change(holding.record);
      // A write whose reply was lost has arrived, with every change of this call. It counts, unless a failover may undo it.
      const arrivedAt = this.#seen.showsUndurable ? undefined : holding.unreportedAt;
      if (arrivedAt && changed === holding.record) return extended(holding, arrivedAt);
      const extendedAt = instantOf(clock);
      const record = { ...changed, nonce: clock.randomUuid() };
      holding.sent.set(record.nonce, extendedAt);
      const version = await this.#write(lease.election, record, holding, limits);
      if (version !== undefined) {
        holding.take({ record, version });
        return extended(holding, extendedAt);
      }
      holding.overtaken = true;
    }
    throw conflict(this.#seen.name, lease.election, "renew");
  }

  /** Ends our term. Even if the request fails, nobody leads on the term any more. */
  async vacate(lease: Lease, { holdMs = 0, done, value, ...given }: Vacating): Promise<ReleaseOutcome> {
    const { election } = lease;
    const holding = this.#holding(lease);
    const limits = shareLimits(this.#seen.clock, given);
    this.#seen.abandoned.add(election, lease.termId, holding.version, holdMs);
    for (let tries = 0; tries < CONFLICT_TRIES; tries += 1) {
      // The holder may still release a broken term. Its release only shortens the rivals' wait.
      if (await this.#catchUp(lease, holding, limits)) {
        const found = this.#seen.last(election);
        const arrived = found && holding.releases.includes(found.record.nonce) && found.record.done === done;
        if (arrived && done && this.#seen.showsUndurable) {
          if (await this.#repeat(election, holding, found, limits)) return "released";
          continue;
        }
        holding.releases = [];
        if (!arrived) return "not-held";
        return this.#seen.showsUndurable ? "unconfirmed" : "released";
      }
      const vacated: LeaseRecord = {
        // A break also removes a hold that would begin only now.
        ...vacate(holding.record, this.#seen.clock.randomUuid(), holding.record.broken ? 0 : holdMs),
        history: endTerm(holding.record, this.#seen.clock.wallMs()),
        ...(done ? { done } : {}),
        ...(value === undefined ? {} : { value }),
      };
      holding.releases = [...holding.releases, vacated.nonce];
      if ((await this.#write(election, vacated, holding, limits)) === undefined) {
        holding.overtaken = true;
        continue;
      }
      holding.releases = [];
      return "released";
    }
    throw conflict(this.#seen.name, election, "release");
  }

  /** Where only an acknowledged write counts, the call after a lost reply reads first, because a write would usually fail. */
  async #write(election: string, record: LeaseRecord, holding: Holding, limits: RequestLimits): Promise<string | undefined> {
    try {
      return await this.#seen.write(election, record, holding, limits);
    } catch (error) {
      if (this.#seen.showsUndurable && isUnknown(error)) holding.overtaken = true;
      throw error;
    }
  }

  /** Writes the found record once more. After this write is acknowledged, no failover undoes that the occurrence is done. */
  async #repeat(election: string, holding: Holding, { record, version }: Found, limits: RequestLimits): Promise<boolean> {
    const again = { ...record, nonce: this.#seen.clock.randomUuid() };
    holding.releases = [...holding.releases, again.nonce];
    return (await this.#seen.write(election, again, { record, version }, limits)) !== undefined;
  }

  /** Adopts the record that made a condition fail: by our lost write, or by an administrator. Returns how the lease was lost. */
  async #catchUp(lease: Lease, holding: Holding, limits: RequestLimits): Promise<Lost | undefined> {
    if (!holding.overtaken) return undefined;
    const { election } = lease;
    const shown = this.#seen.last(election);
    const isNews = shown && !shown.outdated && shown.version !== holding.version;
    const observed = isNews ? shown : await this.#seen.read(election, limits);
    if (!observed || isLost(observed.record)) return lost("missing", false, "its record is gone from the store");
    const { record, version } = observed;
    if (record.termId !== lease.termId) {
      if (record.termId === null && record.term === lease.term && record.broken) {
        return lost("broken", false, `an administrator broke it at once ("${record.broken.reason}")`);
      }
      const whose = record.termId === null ? "it was vacated" : `'${record.candidateId}' holds term ${record.term}`;
      return lost("taken", false, whose);
    }
    holding.take({ record, version });
    return undefined;
  }

  #holding(lease: Lease): Holding {
    const holding = this.#holdings.get(lease);
    if (holding) return holding;
    throw new ConfigurationError(`This lease of '${lease.election}' was not given out by this ${this.#seen.name} store.`);
  }
}

function extended(holding: Holding, extendedAt: Instant): RenewOutcome {
  holding.report();
  const transferTo = transferTarget(holding.record);
  return { held: true, extendedAt, ...(transferTo === undefined ? {} : { transferTo }) };
}

function lost(reason: Lost["reason"], barredUntilExpiry: boolean, explanation: string): Lost {
  return { held: false, reason, barredUntilExpiry, explanation };
}
