import {
  ConfigurationError,
  UnsupportedError,
  type LeaseSnapshot,
  type LeaseStore,
  type LeaseStoreCapabilities,
} from "@leasehold/core";
import {
  type ReadOptions,
  type StoreMember,
  type StoreWarnings,
  checkLease,
  checkName,
  checkTerm,
  checkValue,
  DEFAULT_REQUEST_TIMEOUT_MS,
  onAbort,
  type AcquireOutcome,
  type AcquireRequest,
  type Lease,
  type ReleaseOptions,
  type ReleaseOutcome,
  type RenewOutcome,
  type RequestLimits,
  type WatchOptions,
} from "@leasehold/core/provider";
import { AdministeredStore } from "./administered-store.ts";
import { HIGHEST_DROPPED_TERM } from "./voter-state.ts";
import { CAPABILITIES, MAX_VALUE_BYTES, NAME } from "./capabilities.ts";
import { statusesOf } from "./administration.ts";
import { openServer } from "./open-server.ts";
import type { VotingLeaseStoreOptions } from "./options.ts";
import { unanswered } from "./poll.ts";
import type { VotingTerm } from "./voting-term.ts";
import { ServerClaims } from "./server-claims.ts";
import type { Server } from "./server.ts";
import { LeaderStatuses } from "./leader-statuses.ts";
import type { DropReason, WarningLog } from "./warning-log.ts";

/** A lease store whose service is the servers themselves. Each listens, votes, and may compete in any number of elections. */
export class VotingLeaseStore extends AdministeredStore implements LeaseStore {
  readonly capabilities: LeaseStoreCapabilities = CAPABILITIES;
  readonly #server: Server;
  readonly #sightings: LeaderStatuses;
  readonly #ledTerms = new WeakMap<Lease, VotingTerm>();
  readonly #claims: ServerClaims;
  #troubles: WarningLog | undefined;
  #close: () => Promise<void>;

  /**
   * Starts this process's server, and resolves once it listens. The server takes part as soon as it may: at the very first start
   * once all servers are there, later within a lease. `open` does not wait for that, because one server that is down would then
   * keep all others from starting. Until a majority takes part, calls reject with `STORE_UNAVAILABLE`; an elector tries again.
   *
   * @throws {ConfigurationError} for options that cannot work, and for a directory or a port that another process has. Also for a
   * list of servers that differs by more than one from that of the last start. Nothing is left open then.
   *
   * @example
   * ```ts
   * const store = await VotingLeaseStore.open({
   *   server: "a",
   *   servers: { a: "http://10.0.0.1:7400", b: "http://10.0.0.2:7400", c: "http://10.0.0.3:7400" },
   *   secret: process.env["VOTING_SECRET"] ?? "",
   *   stateDirectory: "/var/lib/billing/votes",
   *   host: "10.0.0.1",
   * });
   * ```
   */
  static async open(options: VotingLeaseStoreOptions): Promise<VotingLeaseStore> {
    const { server, troubles, close } = await openServer(options);
    const store = new VotingLeaseStore(server);
    store.#troubles = troubles;
    store.#close = close;
    return store;
  }

  /** For programs that make their own `Server`. All others call `open`. */
  constructor(server: Server) {
    // A majority that answers here also votes: there are no other rights.
    super(server, async (election, timeoutMs) => void (await statusesOf(server, election, { timeoutMs })));
    this.#server = server;
    this.#claims = new ServerClaims(server);
    this.#sightings = new LeaderStatuses(server.clock);
    this.#close = () => server.close();
  }

  get warnings(): StoreWarnings | undefined {
    return this.#troubles?.warnings;
  }

  /** The state of all servers, as this one knows it. It asks the others every ten seconds. */
  members(): readonly StoreMember[] {
    return this.#server.members();
  }

  /** The number of packets dropped since the start, for each reason. Each is published on {@link DROPPED_CHANNEL} as well. */
  get dropped(): Readonly<Partial<Record<DropReason, number>>> {
    return this.#troubles?.dropped ?? {};
  }

  async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    const { election, candidateId, value, leaseDurationMs } = request;
    checkName("election", election);
    checkName("candidateId", candidateId);
    checkLease(leaseDurationMs, this.capabilities);
    checkTerm("minTerm", request.minTerm);
    if ((request.minTerm ?? 0) > HIGHEST_DROPPED_TERM) {
      const most = `among servers that vote it may be ${HIGHEST_DROPPED_TERM} at most`;
      throw new ConfigurationError(`minTerm is ${request.minTerm}; ${most}, since all later terms have to be above it.`, {
        election,
      });
    }
    if (value !== undefined) checkValue(value, MAX_VALUE_BYTES);
    if (request.reservation) throw new UnsupportedError(`${NAME} has no clock to judge a reservation by.`, { election });
    const current = this.#seen(election);
    // The other servers prefer candidates by name. A trial that cannot be won would delay the others.
    if (this.#claims.isUnderWay(election) || this.#server.hasLostDisk) return { acquired: false, current };
    const outcome = await this.#claims.claim(request);
    if (!outcome.won) {
      for (const { sign } of outcome.votes.values()) this.#sightings.see(election, sign);
      return { acquired: false, current: this.#seen(election) };
    }
    const { votingTerm, grantedAt } = outcome;
    const { term, termId } = votingTerm.title;
    const lease = { election, candidateId, term, termId, leaseDurationMs, grantedAt };
    this.#ledTerms.set(lease, votingTerm);
    return { acquired: true, lease };
  }

  async renew(lease: Lease, { timeoutMs }: RequestLimits): Promise<RenewOutcome> {
    const votingTerm = this.#reignOf(lease);
    if (votingTerm.isOver) return taken(`this store does not hold term ${lease.term} any more`);
    const before = votingTerm.grantedAt;
    const result = await votingTerm.lead(timeoutMs);
    if (votingTerm.isLost) return taken("a majority of the servers knows of a later term");
    const { broken } = votingTerm;
    if (broken) return { held: false, reason: "broken", barredUntilExpiry: !broken.immediate, explanation: broken.reason };
    const { grantedAt } = votingTerm;
    const extends_ = grantedAt !== undefined && grantedAt !== before;
    if (result.outcome === "yes" || extends_) {
      const transferTo = votingTerm.transfer?.candidateId;
      return { held: true, ...(extends_ ? { extendedAt: grantedAt } : {}), ...(transferTo === undefined ? {} : { transferTo }) };
    }
    throw unanswered(lease.election, "LEAD", result, true);
  }

  async publish(lease: Lease, value: string, limits: RequestLimits): Promise<RenewOutcome> {
    checkValue(value, MAX_VALUE_BYTES);
    this.#reignOf(lease).value = value;
    return await this.renew(lease, limits);
  }

  async release(lease: Lease, { timeoutMs, holdMs = 0 }: ReleaseOptions): Promise<ReleaseOutcome> {
    const votingTerm = this.#reignOf(lease);
    if (votingTerm.isReleased) return "not-held";
    const { outcome, failures } = await votingTerm.release(holdMs, timeoutMs);
    if (votingTerm.isReleased) return "released";
    if (outcome === "yes" || votingTerm.isLost) return "not-held";
    throw unanswered(lease.election, "RELEASE", { failures }, true);
  }

  forget(lease: Lease): void {
    const votingTerm = this.#ledTerms.get(lease);
    if (votingTerm) votingTerm.isOver = true;
  }

  /** Answers from the own server while its leader's lease lasts; otherwise asks a majority. */
  override async read(election: string, options: ReadOptions = {}): Promise<LeaseSnapshot | undefined> {
    checkName("election", election);
    options.signal?.throwIfAborted();
    const local = this.#seen(election);
    if (local?.state === "held" && this.#server.takesPartIn(election)) return local;
    const { timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, signal } = options;
    for (const sign of await statusesOf(this.#server, election, { timeoutMs, signal })) this.#sightings.see(election, sign);
    return this.#seen(election);
  }

  nextLookMs(election: string, retryPeriodMs: number): number {
    const nowMs = this.clock.monotonicMs();
    const ownMs = this.#server.ballots.waitMs(election, nowMs);
    const { state, ageMs = [0, 0], leaseDurationMs = 0 } = this.#seen(election) ?? {};
    // The own server's block may end before that of others, or later, if an order has lifted the others.
    if (ownMs > 0) return Math.min(ownMs, Math.max(leaseDurationMs, retryPeriodMs));
    if (state === "held") return Math.max(leaseDurationMs - ageMs[0], 1);
    const nextClaimMs = this.#claims.waitMs(election);
    return nextClaimMs > 0 ? Math.min(nextClaimMs, retryPeriodMs) : retryPeriodMs;
  }

  /** Wakes when the own server hears something new about the election's term. A LEAD that only renews does not wake. */
  async *watch(election: string, { signal }: WatchOptions): AsyncGenerator<void> {
    let changed = Promise.withResolvers<void>();
    const wake = (): void => changed.resolve();
    const stop = this.#server.onSign((which) => void (which === election && wake()));
    const stopListening = onAbort(signal, wake);
    try {
      let known: string | undefined;
      while (!signal.aborted) {
        const { term, state, endingReason, bar } = this.#seen(election) ?? {};
        const heard = JSON.stringify([term, state, endingReason, bar?.kind]);
        if (heard !== known) yield;
        known = heard;
        await changed.promise;
        changed = Promise.withResolvers();
      }
    } finally {
      stop();
      stopListening();
    }
  }

  /** Ends this server: it stops listening and voting, and frees its directory and port. */
  async close(): Promise<void> {
    await this.#close();
  }

  #reignOf(lease: Lease): VotingTerm {
    const votingTerm = this.#ledTerms.get(lease);
    if (votingTerm) return votingTerm;
    throw new ConfigurationError(`This lease of '${lease.election}' was not given out by this ${NAME} store.`);
  }

  #seen(election: string): LeaseSnapshot | undefined {
    if (!this.#claims.isUnderWay(election)) {
      this.#sightings.see(election, this.#server.ballots.sign(election, this.clock.monotonicMs()));
    }
    return this.#sightings.snapshot(election);
  }
}

function taken(explanation: string): RenewOutcome {
  return { held: false, reason: "taken", barredUntilExpiry: false, explanation };
}
