import {
  StoreError,
  type LeaseSnapshot,
  type LeaseStore,
  type LeaseStoreCapabilities,
  type StoreErrorCode,
} from "@leasehold/core";
import {
  type ListOptions,
  instantOf,
  type AcquireOutcome,
  type AcquireRequest,
  type Lease,
  type Place,
  type ReleaseOutcome,
  type RenewOutcome,
} from "@leasehold/core/provider";
import { cannotList } from "../src/store/listing.ts";
import type { VirtualClock } from "@leasehold/core/testing";
import { ELECTION } from "@leasehold/test-kit/acquisitions";

interface Entry {
  readonly term: number;
  readonly candidateId: string;
  readonly leaseDurationMs: number;
  untilMs: number;
  leads: boolean;
}

export type QueueOperation = "take" | "look" | "acquire" | "leave" | "renew" | "release" | "read" | "win" | "check";

/** A service with one queue whose first entry leads, as in an etcd election, without a network. */
export class QueueService {
  /** The requests that it received, as `<candidate> <operation>`. */
  readonly log: string[] = [];
  readonly clock: VirtualClock;
  /** Returns the error of a request, if the request is to fail. */
  failure: ((candidateId: string, operation: QueueOperation) => StoreErrorCode | undefined) | undefined;
  /** The latency of each kind of request. */
  latencyMs: Partial<Record<QueueOperation, number>> = {};
  /** The time that the reply of an acquisition takes. */
  replyMs = 0;
  #entries: Entry[] = [];
  #term = 0;
  /** The last term that a candidate has led. */
  #ledTerm = 0;
  #changed = Promise.withResolvers<void>();

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  connect(candidateId: string): QueueLeaseStore {
    return new QueueLeaseStore(this, candidateId);
  }

  /** The candidates in the queue, the first in front. */
  get queue(): string[] {
    return this.#present().map(({ candidateId }) => candidateId);
  }

  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Ends the sessions of a candidate, as an administrator might. */
  revoke(candidateId: string): void {
    this.#entries = this.#entries.filter((entry) => entry.candidateId !== candidateId);
    this.announce();
  }

  add(entry: Omit<Entry, "term" | "untilMs" | "leads">): Entry {
    const added = { ...entry, term: (this.#term += 1), untilMs: this.clock.monotonicMs() + entry.leaseDurationMs, leads: false };
    this.#entries.push(added);
    return added;
  }

  lead(entry: Entry): void {
    entry.leads = true;
    this.#ledTerm = entry.term;
  }

  remove(entry: Entry): void {
    this.#entries = this.#entries.filter((each) => each !== entry);
    this.announce();
  }

  /** Renews an entry. Returns false if the entry is gone. */
  keep(entry: Entry): boolean {
    if (!this.#present().includes(entry)) return false;
    entry.untilMs = this.clock.monotonicMs() + entry.leaseDurationMs;
    return true;
  }

  announce(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Returns the election's state for the owner of this entry. */
  snapshot(own?: Entry): LeaseSnapshot {
    const [first] = this.#present();
    if (!first || (first === own && !first.leads)) return { election: ELECTION, state: "vacant", term: this.#ledTerm };
    const { candidateId: holder, term, leaseDurationMs } = first;
    return { election: ELECTION, state: "held", term, holder, leaseDurationMs, bar: { kind: "lease" } };
  }

  #present(): Entry[] {
    this.#entries = this.#entries.filter(({ untilMs }) => untilMs > this.clock.monotonicMs());
    return this.#entries;
  }
}

/** One candidate's store on a {@link QueueService}. */
export class QueueLeaseStore implements LeaseStore {
  readonly name = "queue";
  readonly clock: VirtualClock;
  readonly capabilities: LeaseStoreCapabilities = {
    expiry: "native",
    watch: "poll",
    minLeaseMs: 1_000,
    maxLeaseMs: 3_600_000,
    leaseGranularityMs: 1,
    maxValueBytes: 1_024,
    fence: "none",
    transfer: undefined,
    storeClock: undefined,
  };
  readonly #service: QueueService;
  readonly #candidateId: string;
  readonly #entries = new Map<string, Entry>();

  constructor(service: QueueService, candidateId: string) {
    this.#service = service;
    this.#candidateId = candidateId;
    this.clock = service.clock;
  }

  join(request: AcquireRequest, { signal }: { readonly signal: AbortSignal }): Place {
    const service = this.#service;
    let entry: Entry | undefined;
    let isTaken = false;
    const isOver = (): boolean => signal.aborted || (entry !== undefined && (entry.leads || !service.keep(entry)));
    const acquire = async (): Promise<AcquireOutcome> => {
      const sentAt = instantOf(this.clock);
      await this.#send("acquire");
      if (!entry || !service.keep(entry)) return { acquired: false };
      const current = service.snapshot(entry);
      if (current.bar) return { acquired: false, current };
      service.lead(entry);
      const lease = this.#lease(request, entry, sentAt);
      await this.#pass(service.replyMs);
      return { acquired: true, lease };
    };
    const turns = async function* (store: QueueLeaseStore): AsyncGenerator<LeaseSnapshot> {
      if (!isTaken) await store.#send("take");
      if (!isTaken) entry = service.add(request);
      isTaken = true;
      while (!isOver()) {
        const { changed } = service;
        await store.#send("look");
        yield service.snapshot(entry);
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = store.clock.setTimer(resolve, request.renewIntervalMs);
        signal.addEventListener("abort", () => resolve(), { once: true });
        await Promise.race([promise, changed]);
        timer.cancel();
      }
    };
    const leave = async (): Promise<void> => {
      if (!entry || entry.leads) return;
      await this.#send("leave");
      service.remove(entry);
      entry = undefined;
    };
    return { turns: () => turns(this), acquire, leave };
  }

  async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    const sentAt = instantOf(this.clock);
    await this.#send("win");
    const current = this.#service.snapshot();
    if (current.bar) return { acquired: false, current };
    const entry = this.#service.add(request);
    this.#service.lead(entry);
    return { acquired: true, lease: this.#lease(request, entry, sentAt) };
  }

  async renew(lease: Lease): Promise<RenewOutcome> {
    const sentAt = instantOf(this.clock);
    await this.#send("renew");
    const entry = this.#entries.get(lease.termId);
    if (entry && this.#service.keep(entry)) return { held: true, extendedAt: sentAt };
    return { held: false, reason: "missing", barredUntilExpiry: false, explanation: "its session is gone" };
  }

  async publish(lease: Lease): Promise<RenewOutcome> {
    return await this.renew(lease);
  }

  async release(lease: Lease): Promise<ReleaseOutcome> {
    await this.#send("release");
    const entry = this.#entries.get(lease.termId);
    if (entry) this.#service.remove(entry);
    return entry ? "released" : "not-held";
  }

  async read(): Promise<LeaseSnapshot> {
    await this.#send("read");
    return this.#service.snapshot();
  }

  nextLookMs(_election: string, retryPeriodMs: number): number {
    return retryPeriodMs;
  }

  async check(): Promise<never> {
    await this.#send("check");
    throw new Error("Nobody asks a queue whether it may be written to.");
  }

  break(): Promise<never> {
    return Promise.reject(new Error("not here"));
  }

  pause(): Promise<never> {
    return Promise.reject(new Error("A queue has no pause."));
  }

  resume(): Promise<never> {
    return Promise.reject(new Error("A queue has no pause."));
  }

  repair(): Promise<never> {
    return Promise.reject(new Error("A queue has no terms to repair."));
  }

  list(prefix: string = "", options: ListOptions = {}): never {
    return cannotList(this.name, prefix, options);
  }

  transfer(): Promise<never> {
    return Promise.reject(new Error("not here"));
  }

  #lease({ election, candidateId, leaseDurationMs }: AcquireRequest, entry: Entry, grantedAt: Lease["grantedAt"]): Lease {
    const termId = this.clock.randomUuid();
    this.#entries.set(termId, entry);
    return { election, candidateId, term: entry.term, termId, leaseDurationMs, grantedAt };
  }

  async #send(operation: QueueOperation): Promise<void> {
    const { log, latencyMs, failure } = this.#service;
    log.push(`${this.#candidateId} ${operation}`);
    await this.#pass(latencyMs[operation] ?? 0);
    const code = failure?.(this.#candidateId, operation);
    if (code)
      throw new StoreError(code, `${operation} failed: ${code}`, { store: "queue", operation, mayHaveBeenApplied: false });
  }

  async #pass(ms: number): Promise<void> {
    if (ms > 0) await new Promise<void>((resolve) => void this.clock.setTimer(resolve, ms));
  }
}
