import { isUnknown, TermRegressedError } from "../reporting/errors.ts";
import { mayAcquire } from "../store/lease-snapshot.ts";
import type { AcquireOutcome, AcquireRequest } from "../store/lease-store.ts";
import { checkTerm } from "../store/names.ts";
import { instantOf, type Instant } from "../time/clock.ts";
import type { HeldLeases } from "./held-leases.ts";
import type { Found } from "./holding.ts";
import { heldLostRecord } from "./lost-record.ts";
import { RECORD_SCHEMA, type LeaseRecord } from "./record-store.ts";
import { beginTerm } from "./term-history.ts";
import type { RecordCache } from "./record-cache.ts";
import type { ObservedRecord } from "./observed-record.ts";

interface Attempt {
  readonly request: AcquireRequest;
  readonly record: LeaseRecord;
  readonly condition: string | undefined;
  readonly grantedAt: Instant;
}

/** Acquires leases. Each attempt is one conditional write that replaces a record on which nobody leads. */
export class Acquisitions {
  readonly #seen: RecordCache;
  readonly #leases: HeldLeases;

  constructor(seen: RecordCache, leases: HeldLeases) {
    this.#seen = seen;
    this.#leases = leases;
  }

  async attempt(request: AcquireRequest): Promise<AcquireOutcome> {
    const { election, candidateId, reservation, expiry } = request;
    const observed = await this.#basis(request);
    const current = observed && this.#seen.snapshot(election, observed, expiry);
    if (observed?.isMissing) {
      const record = heldLostRecord(observed.record, request.leaseDurationMs);
      await this.#seen.restartAge(election, { record, version: observed.version }, request);
      return { acquired: false, current };
    }
    if (current && !mayAcquire(current, candidateId, reservation?.group)) {
      if (current.ageUnknown) await this.#seen.restartAge(election, observed, request);
      return { acquired: false, current };
    }

    const record = this.#recordOf(observed, request);
    const grantedAt = instantOf(this.#seen.clock);
    // The version is copied here, because the observed record may change while the request is under way.
    const attempt = { request, record, condition: observed?.version, grantedAt };
    try {
      const version = await this.#seen.write(election, record, observed, request);
      if (version !== undefined) return { acquired: true, lease: this.#leases.take(election, { record, version }, grantedAt) };
    } catch (error) {
      if (!isUnknown(error)) throw error;
      return await this.#resolve(attempt, error as Error);
    }
    // The race is lost, unless the network has delivered our write twice and this is the reply to the second one.
    const winner = this.#seen.last(election);
    if (winner && !winner.outdated && winner.record.termId !== record.termId) {
      return { acquired: false, current: this.#seen.snapshot(election, winner, expiry) };
    }
    return await this.#resolve(attempt, undefined);
  }

  /** Returns the record that the write replaces: the last observed one, or a new read if that one is known to be old. */
  async #basis(request: AcquireRequest): Promise<ObservedRecord | undefined> {
    const { election, aboveTerm = 0 } = request;
    const last = this.#seen.last(election);
    const isUsable = last && !last.outdated && last.record.term >= aboveTerm;
    const isAbsent = this.#seen.isAbsent(election) && aboveTerm === 0;
    return isUsable || isAbsent ? last : await this.#seen.read(election, request);
  }

  #recordOf(observed: ObservedRecord | undefined, request: AcquireRequest): LeaseRecord {
    const { election, candidateId, value, leaseDurationMs, renewIntervalMs, reservation, aboveTerm = 0 } = request;
    const { clock } = this.#seen;
    const term = Math.max((observed?.record.term ?? 0) + 1, request.minTerm ?? 1);
    if (term <= aboveTerm) throw new TermRegressedError(election, term - 1, aboveTerm);
    checkTerm("the next term", term);
    return {
      schema: RECORD_SCHEMA,
      term,
      termId: clock.randomUuid(),
      candidateId,
      ...(value === undefined ? {} : { value }),
      nonce: clock.randomUuid(),
      leaseDurationMs,
      renewIntervalMs,
      ...(reservation ? { bars: [{ untilMs: reservation.durationMs, except: { group: reservation.group } }] } : {}),
      history: beginTerm(observed?.record, term, candidateId, clock.wallMs()),
    };
  }

  /** Writes a win's record again: only a read has shown the win, and a failover may undo it. The lease counts from this send. */
  async #confirm(election: string, { record, version }: Found, request: AcquireRequest): Promise<AcquireOutcome> {
    const { clock, abandoned } = this.#seen;
    const grantedAt = instantOf(clock);
    const again = { ...record, nonce: clock.randomUuid() };
    let written: string | undefined;
    try {
      written = await this.#seen.write(election, again, { record, version }, request);
    } finally {
      if (written === undefined) abandoned.add(election, record.termId ?? "", version);
    }
    if (written === undefined) return { acquired: false };
    return { acquired: true, lease: this.#leases.take(election, { record: again, version: written }, grantedAt) };
  }

  /** Reads whether a write of unknown outcome has arrived. `lost` is its error if no reply came. */
  async #resolve({ request, record, condition, grantedAt }: Attempt, lost: Error | undefined): Promise<AcquireOutcome> {
    const { election } = request;
    const observed = await this.#seen.read(election, request).catch(() => undefined);
    if (observed && observed.record.termId === record.termId && !observed.record.broken) {
      if (this.#seen.showsUndurable) return await this.#confirm(election, observed, request);
      return { acquired: true, lease: this.#leases.take(election, observed, grantedAt) };
    }
    // From here on nobody leads on this term. The write may still be under way; if it arrives, the term counts as abandoned.
    this.#seen.abandoned.add(election, record.termId ?? "", condition);
    if (lost !== undefined && (!observed || condition === observed.version)) throw lost;
    const known = this.#seen.last(election);
    const current = known && !known.outdated ? this.#seen.snapshot(election, known, request.expiry) : undefined;
    return { acquired: false, current };
  }
}
