import type { Leadership } from "@leasehold/core";
import { carry, type Network, type ProcessClock, type SeededRandom, type VirtualClock } from "@leasehold/core/testing";
import { EtcdFailure, EtcdLeaseStore, type Json } from "@leasehold/etcd";
import type { KeyEvent, StoredKey } from "@leasehold/test-kit/simulated/etcd-keys";
import { ELECTION_TIMEOUT_MS, EtcdService, FOUND_LATE_MS } from "@leasehold/test-kit/simulated/etcd-service";
import { SimulatedTransport, type WatchStream } from "@leasehold/test-kit/simulated/etcd-transport";
import {
  ELECTION,
  newServiceView,
  type QueueFaults,
  type RequestFailure,
  type ServiceView,
  type SimulatedStore,
  type StoreAccess,
} from "./simulated-store.ts";

const CANDIDATES = `${ELECTION}/`;
const INFOS = `.leasehold/${ELECTION}/candidates/`;
const NOTES = `.leasehold/${ELECTION}/notes/`;
/** The name of a candidate in Go. */
const GO = "go";

const RESOURCE_EXHAUSTED = 8;
const PERMISSION_DENIED = 7;

/** A candidate in Go. It reaches the service at once, and knows nothing of Leasehold. */
interface GoCandidate {
  readonly lease: string;
  readonly leadsForMs: number;
  readonly dies: boolean;
}

/** etcd with its gateway: the real `EtcdLeaseStore`. The members' leader ends its leases, and its queue consists of keys. */
export class SimulatedEtcd implements SimulatedStore, QueueFaults {
  readonly view: ServiceView = newServiceView();
  readonly keepsOccurrences: boolean = false;
  readonly faults: QueueFaults = this;
  readonly foundLateMs: number = ELECTION_TIMEOUT_MS + FOUND_LATE_MS;
  readonly #world: VirtualClock;
  readonly #service: EtcdService;
  readonly #streams = new Set<WatchStream>();
  readonly #goCandidates = new Map<string, GoCandidate>();
  readonly #transports = new Map<ProcessClock, SimulatedTransport>();
  /** The process that has put each key. */
  readonly #owners = new Map<string, ProcessClock>();
  /** The oldest key. */
  #head: StoredKey | undefined;
  #leases = 0;
  /** The process whose request is being carried out. */
  #asking: ProcessClock | undefined;

  /** @param rate of the clock by which leases end. */
  constructor(world: VirtualClock, rate: number, random: SeededRandom) {
    this.#world = world;
    this.#service = new EtcdService(world, rate, random);
    this.#service.onChanged = (events) => this.#changed(events);
  }

  /** True if a candidate is the first in the queue and has not left, even if it does not know that it is its turn. */
  get held(): boolean {
    return this.#head !== undefined && this.#noteOf(this.#head)?.kind !== "hold";
  }

  connect(process: ProcessClock, network: Network): StoreAccess {
    const service = this.#service;
    const broken = (): Error => this.failure("reset");
    const answer = (...asked: Parameters<EtcdService["answer"]>): Json => {
      this.#asking = process;
      try {
        return service.answer(...asked);
      } finally {
        this.#asking = undefined;
      }
    };
    const streams = this.#streams;
    const transport = new SimulatedTransport({ world: this.#world, service, process, network, answer, streams, broken });
    this.#transports.set(process, transport);
    const store = new EtcdLeaseStore({ transport, clock: process });
    return {
      store,
      seal: () => Promise.resolve(),
      write: (leadership: Leadership, entry) => {
        const conditions = store.fence(leadership);
        return carry(this.#world, process, network({ operation: "write" }), () => {
          if (!service.admits(conditions)) throw new Error("The service refuses the write.");
          this.view.wrote({ term: leadership.term, entry });
        });
      },
    };
  }

  barredUntilMs(termId: string): number {
    const head = this.#head;
    if (!head || hexOf(head) !== termId || this.#noteOf(head)?.kind === "hold") return -Infinity;
    return this.#service.endsMs(head.lease);
  }

  failure(how: RequestFailure): Error {
    if (how === "throttled") return new EtcdFailure("too many requests", { status: 429, grpcCode: RESOURCE_EXHAUSTED });
    if (how === "denied") return new EtcdFailure("permission denied", { status: 403, grpcCode: PERMISSION_DENIED });
    return new EtcdFailure(how, { status: 0, socketCode: how === "reset" ? "ECONNRESET" : "ECONNREFUSED" });
  }

  corrupt(): undefined {
    return undefined;
  }

  electLeader(unheardBy: ProcessClock | undefined): void {
    this.#service.electLeader(unheardBy && this.#transports.get(unheardBy)?.member);
    this.#cutStreams();
  }

  heal(): void {
    this.#service.heal();
  }

  calmDown(): void {
    this.heal();
    this.#cutStreams();
    for (const { lease } of this.#goCandidates.values()) this.#service.revoke(lease);
  }

  revoke(index: number): number | undefined {
    const key = this.#service.keys.under(CANDIDATES).at(index);
    if (!key || !this.#service.revoke(key.lease)) return undefined;
    return key.createRevision;
  }

  hasPlace(process: ProcessClock, candidateId: string): boolean {
    const places = this.#service.keys.under(CANDIDATES).filter((key) => this.#noteOf(key)?.kind !== "hold");
    return places.some((key) => this.#owners.get(key.key) === process && this.#candidateOf(key) === candidateId);
  }

  compact(): void {
    this.#service.keys.compact();
    this.#cutStreams();
  }

  stall(): void {
    for (const stream of this.#streams) stream.isStalled = true;
  }

  joinInGo(leadsForMs: number, dies: boolean, ttlS: number): void {
    this.#leases += 1;
    const lease = String(this.#leases);
    const hex = this.#leases.toString(16);
    this.#goCandidates.set(hex, { lease, leadsForMs, dies });
    this.#service.grantKept(lease, ttlS);
    this.#service.keys.put(CANDIDATES + hex, GO, lease);
  }

  #cutStreams(): void {
    for (const stream of this.#streams) stream.cut();
  }

  #changed(events: readonly KeyEvent[]): void {
    for (const { type, key } of events) {
      if (type === "PUT" && key.key.startsWith(NOTES)) this.#noted(key);
      if (type === "PUT" && key.key.startsWith(CANDIDATES) && key.version === 1) {
        if (this.#asking) this.#owners.set(key.key, this.#asking);
        this.view.joined({ process: this.#asking, candidateId: this.#candidateOf(key), term: key.createRevision });
      }
    }
    if (events.some(({ key }) => key.key.startsWith(CANDIDATES))) this.#findHead();
    for (const stream of this.#streams) stream.push(events);
  }

  #findHead(): void {
    const before = this.#head;
    this.#head = this.#service.keys.under(CANDIDATES)[0];
    const head = this.#head;
    if (!head || head.createRevision === before?.createRevision) return;
    const termId = hexOf(head);
    this.view.granted({ term: head.createRevision, termId, candidateId: this.#candidateOf(head) });
    this.#leadInGo(termId);
  }

  #candidateOf(key: StoredKey): string {
    const info = this.#service.keys.get(INFOS + hexOf(key));
    return info ? (JSON.parse(info.value) as { readonly candidateId: string }).candidateId : GO;
  }

  /** Leads for a while, and then resigns or disappears. */
  #leadInGo(hex: string): void {
    const candidate = this.#goCandidates.get(hex);
    if (!candidate) return;
    const { lease, leadsForMs, dies } = candidate;
    this.#world.setIdleTimer(() => (dies ? this.#service.abandon(lease) : this.#service.revoke(lease)), leadsForMs);
  }

  /** An administrator has ended a term. */
  #noted({ key, value }: StoredKey): void {
    const { kind, reason } = JSON.parse(value) as { readonly kind: string; readonly reason?: string };
    const candidate = this.#service.keys.get(CANDIDATES + key.slice(NOTES.length));
    if (kind === "break" && candidate) this.view.ordered(reason ?? "", candidate.createRevision);
  }

  #noteOf(head: StoredKey): { readonly kind: string } | undefined {
    const note = this.#service.keys.get(NOTES + hexOf(head));
    return note && (JSON.parse(note.value) as { readonly kind: string });
  }
}

function hexOf({ key }: StoredKey): string {
  return key.slice(CANDIDATES.length);
}
