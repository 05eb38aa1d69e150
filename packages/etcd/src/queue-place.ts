import type { LeaseSnapshot } from "@leasehold/core";
import {
  onAbort,
  instantOf,
  shareLimits,
  type AcquireOutcome,
  type AcquireRequest,
  type JoinOptions,
  type Place,
  type RequestLimits,
} from "@leasehold/core/provider";
import { checkTermOf, entering, holdingOf, newCandidate, ttlSeconds, type EtcdCandidate } from "./candidate.ts";
import { isLeaseGone, isLeaseThere } from "./etcd-errors.ts";
import type { StoreParts } from "./parts.ts";
import { PlaceKeeper } from "./place-keeper.ts";
import { PlaceWatch } from "./place-watch.ts";
import { checkSameLeader } from "./renewal.ts";
import type { CallLimits, Transaction, TransactionReply } from "./requests.ts";
import { candidateOf, electionData, lookingAt, lookingAtOne, sightingOf, type ObservedElection } from "./observed-election.ts";
import type { Json } from "./transport.ts";
import { createdAt, getting, ranging, type KeyValue } from "./wire.ts";

/** The state of a place, as one read shows it. */
interface QueuePosition {
  readonly observed: ObservedElection;
  /** The key right before the place's own. The place waits for this key only. Absent if it is this place's turn. */
  readonly before: string | undefined;
  readonly reply: TransactionReply;
}

/**
 * A candidate's place in the queue of its election: its key, behind those that were created earlier. It waits for the key right
 * before it, so that the end of a leader wakes one candidate only. It watches its own key as well. Go's candidates do not: they
 * wait on after their session has ended, and then lead without a key.
 */
export class QueuePlace implements Place {
  readonly #parts: StoreParts;
  readonly #signal: AbortSignal;
  readonly #candidate: EtcdCandidate;
  readonly #keeper: PlaceKeeper;
  readonly #watch: PlaceWatch;
  /** True once a grant was sent: a lease may exist. */
  #isBegun = false;
  #isGranted = false;
  #term: number | undefined;
  /** The key right before this place's own, as the last read showed it. */
  #before: KeyValue | undefined;
  /** True once the place is gone, was left, or has become a lease. */
  #isOver = false;
  /** True once `leave()` has nothing to do. */
  #isGone = false;

  constructor(parts: StoreParts, request: AcquireRequest, { signal }: JoinOptions) {
    const { clock, requests } = parts;
    const { election, renewIntervalMs, timeoutMs } = request;
    this.#parts = parts;
    this.#signal = signal;
    this.#candidate = newCandidate(clock, parts.keysOf(election), request);
    this.#watch = new PlaceWatch(clock, requests, election);
    this.#keeper = new PlaceKeeper(clock, renewIntervalMs, timeoutMs, async (limits) => {
      const { ttlS } = await requests.keepAlive(election, this.#candidate.leaseNumber, limits);
      if (ttlS === undefined) this.#end();
      return ttlS !== undefined;
    });
  }

  async *turns(): AsyncGenerator<LeaseSnapshot, void, undefined> {
    const { clock, reader } = this.#parts;
    const { request, keys, hex } = this.#candidate;
    const stopListening = onAbort(this.#signal, () => this.#watch.wake());
    try {
      while (this.#isLive) {
        const limits = { timeoutMs: request.timeoutMs, signal: this.#signal };
        const standing = (await this.#take(limits)) && (await this.#look(limits));
        if (!standing) return;
        const readMs = clock.monotonicMs();
        const { observed, before } = standing;
        yield before === undefined ? this.#turn() : ((await reader.snapshot(observed, limits)) ?? this.#turn());
        if (!this.#isLive) return;
        this.#watch.follow([keys.candidate(hex), ...(before === undefined ? [] : [before])], observed.revision);
        await this.#watch.ended(readMs + request.renewIntervalMs - clock.monotonicMs());
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      stopListening();
      this.#watch.stop();
    }
  }

  async acquire(): Promise<AcquireOutcome> {
    const { clock, requests, reader, holdings } = this.#parts;
    const { request, leaseNumber } = this.#candidate;
    const term = this.#term;
    if (this.#isOver || term === undefined) return { acquired: false };
    checkTermOf(request, term);
    const limits = shareLimits(clock, { timeoutMs: request.timeoutMs });
    const grantedAt = instantOf(clock);
    const kept = await requests.keepAlive(request.election, leaseNumber, limits);
    const standing = await this.#look({ ...limits, endpoint: kept.endpoint });
    if (!standing || kept.ttlS === undefined) {
      this.#end();
      return { acquired: false };
    }
    if (standing.before !== undefined) return { acquired: false, current: await reader.snapshot(standing.observed, limits) };
    checkSameLeader(request.election, kept, standing.reply);
    // The place was left meanwhile, or is gone.
    if (this.#isOver) return { acquired: false };
    this.#end();
    this.#isGone = true;
    reader.sawOwn(this.#candidate, term);
    return { acquired: true, lease: holdings.add(holdingOf(this.#candidate, term, standing.observed.revision, grantedAt)) };
  }

  async leave(limits: RequestLimits): Promise<void> {
    this.#end();
    if (this.#isGone || !this.#isBegun) return;
    // etcd deletes the key with the lease. A join that is still on its way then fails, because it needs the lease.
    await this.#parts.requests.revoke(this.#candidate.request.election, this.#candidate.leaseNumber, limits);
    this.#isGone = true;
  }

  get #isLive(): boolean {
    return !this.#isOver && !this.#signal.aborted;
  }

  #end(): void {
    this.#isOver = true;
    this.#keeper.stop();
    this.#watch.wake();
  }

  /** Joins the queue, unless a reply has already confirmed the join. Reports whether the place exists. */
  async #take(limits: CallLimits): Promise<boolean> {
    const { requests } = this.#parts;
    const { request, keys, hex } = this.#candidate;
    const { election } = request;
    if (this.#term === undefined) {
      try {
        await this.#grant(limits);
        const key = keys.candidate(hex);
        const transaction = { compare: [createdAt(key, 0)], success: entering(this.#candidate), failure: [getting(key)] };
        const { succeeded, header, ranges } = await requests.write("join", election, transaction, limits);
        // If the key exists already, an earlier request has created it, and its reply was lost.
        this.#term = succeeded ? header.revision : ranges[0]?.[0]?.createRevision;
      } catch (error) {
        if (!isLeaseGone(error)) throw error;
        this.#end();
      }
    }
    if (this.#isOver || this.#term === undefined) return false;
    checkTermOf(request, this.#term);
    return true;
  }

  async #grant(limits: CallLimits): Promise<void> {
    if (this.#isGranted) return;
    this.#isBegun = true;
    await this.#parts.requests
      .grant(this.#candidate.request.election, this.#candidate.leaseNumber, ttlSeconds(this.#candidate), limits)
      // This process chose the number at random. So if the lease exists, an earlier request of this place has created it.
      .catch((error: unknown) => {
        if (!isLeaseThere(error)) throw error;
      });
    this.#isGranted = true;
    if (!this.#isOver) this.#keeper.start();
  }

  /** Reads the election and this place in it; `undefined` if the place is void. */
  async #look(limits: CallLimits): Promise<QueuePosition | undefined> {
    const { requests, reader } = this.#parts;
    const { request, keys, hex, leaseNumber } = this.#candidate;
    const { election } = request;
    const term = this.#term ?? 0;
    const reply = await requests.read("look", election, this.#looking(term), limits);
    const [[own] = [], [noted] = [], [before] = [], ...rest] = reply.ranges;
    if (own?.createRevision !== term || own.lease !== leaseNumber || noted) {
      this.#end();
      return undefined;
    }
    const observed = sightingOf(election, keys, reply.header.revision, electionData(rest));
    if (before) candidateOf(election, keys, before);
    this.#before = before;
    // If it is this place's turn, its key is the oldest, but no process has led in that term yet.
    if (observed.head?.hex !== hex) reader.saw(observed);
    return { observed, before: before?.key, reply };
  }

  /**
   * Returns the read for this place. Reading the whole queue costs etcd work in proportion to its length. So the read does that
   * only if the leader's key, or the key before this place's own, is gone.
   */
  #looking(term: number): Transaction {
    const { request, keys, hex } = this.#candidate;
    const all = [...this.#lookingAtOwn(term), ...lookingAt(keys)];
    const leader = this.#parts.reader.leader(request.election);
    const before = this.#before;
    if (!leader || !before) return { success: all };
    const known = [getting(keys.candidate(hex)), getting(keys.note(hex)), getting(before.key)];
    return {
      compare: [createdAt(before.key, before.createRevision), createdAt(keys.candidate(leader.hex), leader.term)],
      success: [...known, ...lookingAtOne(keys, leader.hex)],
      failure: all,
    };
  }

  /** Returns operations that read this place's own key, an administrator's note for it, and the key right before it. */
  #lookingAtOwn(term: number): readonly Json[] {
    const { keys, hex } = this.#candidate;
    const before = { sort_target: "CREATE", sort_order: "DESCEND", limit: "1", max_create_revision: String(term - 1) };
    return [getting(keys.candidate(hex)), getting(keys.note(hex)), ranging(keys.candidates, before)];
  }

  #turn(): LeaseSnapshot {
    const { election } = this.#candidate.request;
    // Another call of this process may have read this place's own key as the leader's. A vacant lease shows an earlier term.
    const term = Math.min(this.#parts.reader.lastTerm(election), (this.#term ?? 1) - 1);
    return { election, state: "vacant", term };
  }
}
