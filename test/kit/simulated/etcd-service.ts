import { EtcdFailure, type EtcdCompare, type EtcdPath, type Json } from "@leasehold/etcd";
import type { SeededRandom, VirtualClock } from "@leasehold/core/testing";
import { EtcdKeys, leaseNotFound, type KeyEvent, type Transaction } from "./etcd-keys.ts";

/** The election time-out of its members, and the shortest lease that follows from it. */
export const ELECTION_TIMEOUT_MS = 1_000;
const MIN_TTL_S = 2;
/** The time after its end within which a lease and its keys are found to be over: the lessor checks twice a second. */
export const FOUND_LATE_MS = 500;
/** The probability that a member that was cut off learns of the others at a request that needs them. */
const HEARS = 0.6;

const UNAVAILABLE = 14;
const FAILED_PRECONDITION = 9;

export const MEMBERS: readonly string[] = ["http://one", "http://two", "http://three"];

interface Lease {
  readonly id: string;
  readonly ttlS: number;
  /** The time at which it runs out, by the service's clock. */
  untilMs: number;
}

/** A member that led, was cut off, and does not know that the others have elected another leader. */
interface CutOff {
  readonly member: string;
  readonly raftTerm: number;
  readonly revision: number;
  readonly leases: ReadonlySet<string>;
}

/**
 * The part of etcd that elections use, as its gateway answers: keys, leases and transactions. The members' leader keeps the
 * leases' time. https://etcd.io/docs/v3.6/learning/api/
 */
export class EtcdService {
  readonly keys: EtcdKeys;
  /** Called with each step's changes. */
  onChanged: (events: readonly KeyEvent[]) => void = () => {};
  readonly #world: VirtualClock;
  readonly #rate: number;
  readonly #random: SeededRandom;
  readonly #leases = new Map<string, Lease>();
  /** The leases that are gone, with their durations. */
  readonly #gone = new Map<string, number>();
  /** True for the behaviour before 3.4.38, 3.5.23 and 3.6.5: a keep-alive succeeds after the lease was revoked. */
  readonly #keepsTheGone: boolean;
  #raftTerm = 2;
  #cutOff: CutOff | undefined;

  /** @param rate of the clock by which the members' leader ends leases. */
  constructor(world: VirtualClock, rate: number, random: SeededRandom) {
    this.#world = world;
    this.#rate = rate;
    this.#random = random;
    this.#keepsTheGone = random.chance(0.5);
    this.keys = new EtcdKeys(
      (lease) => this.#leases.has(lease),
      (events) => this.onChanged(events),
    );
  }

  answer(path: EtcdPath, body: Json, member: string): Json {
    const reply = this.#cutOff?.member === member ? this.#answerCutOff(path, body, this.#cutOff) : this.#answer(path, body);
    const header = { ...this.header(member), ...(reply["header"] as Json | undefined) };
    return path === "/v3/lease/keepalive" ? { result: { ...reply, header } } : { ...reply, header };
  }

  header(member: string): Json {
    const member_id = String(MEMBERS.indexOf(member) + 1);
    return { cluster_id: "7", member_id, revision: String(this.keys.revision), raft_term: String(this.#raftTerm) };
  }

  /** Returns when a lease runs out, by the true time. */
  endsMs(lease: string): number {
    return (this.#leases.get(lease)?.untilMs ?? -Infinity) / this.#rate;
  }

  admits(compare: readonly EtcdCompare[]): boolean {
    return this.keys.holds(compare);
  }

  /**
   * Makes the members elect another leader. The new leader restarts the time of every lease, and adds up to an election time-out.
   * @param member the former leader, if it does not learn of this until {@link heal}.
   */
  electLeader(member: string | undefined): void {
    const leases = new Set(this.#leases.keys());
    this.#cutOff = member ? { member, raftTerm: this.#raftTerm, revision: this.keys.revision, leases } : undefined;
    this.#raftTerm += 1;
    const extendedMs = this.#random.pick([0, this.#random.between(0, ELECTION_TIMEOUT_MS)]);
    for (const lease of this.#leases.values()) {
      lease.untilMs = this.#nowMs + lease.ttlS * 1_000 + extendedMs;
    }
  }

  /** Lets a member that was cut off learn of the others again. */
  heal(): void {
    this.#cutOff = undefined;
  }

  /** Grants a lease that lasts without keep-alives, until it is {@link abandon}ed or revoked. */
  grantKept(id: string, ttlS: number): void {
    this.#leases.set(id, { id, ttlS, untilMs: Infinity });
  }

  /** Ends the keep-alives of such a lease. */
  abandon(id: string): void {
    const lease = this.#leases.get(id);
    if (!lease) return;
    lease.untilMs = this.#nowMs + lease.ttlS * 1_000;
    this.#watchOver(lease);
  }

  /** Ends a lease, and deletes the keys on it. */
  revoke(id: string): boolean {
    const lease = this.#leases.get(id);
    if (!lease) return false;
    this.#leases.delete(id);
    this.#gone.set(id, lease.ttlS);
    this.keys.drop(this.keys.on(id));
    return true;
  }

  #answer(path: EtcdPath, body: Json): Json {
    const id = String(body["ID"]);
    switch (path) {
      case "/v3/kv/txn":
        return this.keys.transact(body as Transaction);
      case "/v3/lease/grant":
        return this.#grant(id, Number(body["TTL"]));
      case "/v3/lease/keepalive":
        return this.#keepAlive(id);
      case "/v3/lease/revoke":
        if (!this.revoke(id)) throw leaseNotFound();
        return {};
      case "/v3/lease/timetolive": {
        const lease = this.#leases.get(id);
        return { TTL: String(lease ? Math.floor((lease.untilMs - this.#nowMs) / 1_000) : -1) };
      }
      default:
        throw new Error(`Nobody here asks for ${path}.`);
    }
  }

  /**
   * Answers in place of a member that is cut off. A request that needs the others fails, unless it makes the member learn of
   * them. The member extends a lease by itself, without effect.
   */
  #answerCutOff(path: EtcdPath, body: Json, { raftTerm, revision, leases }: CutOff): Json {
    const header = { raft_term: String(raftTerm), revision: String(revision) };
    const id = String(body["ID"]);
    if (path === "/v3/lease/keepalive") return { header, ...(leases.has(id) ? { ID: id, TTL: this.#ttl(id) } : { ID: id }) };
    if (!this.#random.chance(HEARS)) {
      throw new EtcdFailure("etcdserver: request timed out", { status: 503, grpcCode: UNAVAILABLE });
    }
    this.heal();
    return this.#answer(path, body);
  }

  #grant(id: string, ttlS: number): Json {
    if (this.#leases.has(id)) {
      throw new EtcdFailure("etcdserver: lease already exists", { status: 400, grpcCode: FAILED_PRECONDITION });
    }
    const granted = Math.max(ttlS, MIN_TTL_S);
    const lease: Lease = { id, ttlS: granted, untilMs: this.#nowMs + granted * 1_000 };
    this.#leases.set(id, lease);
    this.#watchOver(lease);
    return { ID: id, TTL: String(granted) };
  }

  #keepAlive(id: string): Json {
    const lease = this.#leases.get(id);
    // A lease that is over is not extended, even if etcd has not noticed its end.
    if (lease && lease.untilMs > this.#nowMs) {
      lease.untilMs = this.#nowMs + lease.ttlS * 1_000;
      return { ID: id, TTL: this.#ttl(id) };
    }
    return !lease && this.#keepsTheGone && this.#gone.has(id) ? { ID: id, TTL: this.#ttl(id) } : { ID: id };
  }

  #ttl(id: string): string {
    return String(this.#leases.get(id)?.ttlS ?? this.#gone.get(id) ?? 0);
  }

  /** Ends a lease some time after it has run out, unless it was extended. */
  #watchOver(lease: Lease): void {
    const foundLateMs = this.#random.between(0, FOUND_LATE_MS);
    const look = (): void => {
      if (this.#leases.get(lease.id) !== lease) return;
      const leftMs = lease.untilMs + foundLateMs - this.#nowMs;
      if (leftMs <= 0) this.revoke(lease.id);
      else this.#world.setIdleTimer(look, leftMs / this.#rate + 1e-3);
    };
    look();
  }

  get #nowMs(): number {
    return this.#world.monotonicMs() * this.#rate;
  }
}
