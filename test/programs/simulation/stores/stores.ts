import {
  SimulatedRecordService,
  type SeededRandom,
  type SimulatedRecordServiceOptions,
  type VirtualClock,
} from "@leasehold/core/testing";
import { SimulatedBlobs } from "./blob-store.ts";
import { SimulatedDynamoDB } from "./dynamodb-store.ts";
import { SimulatedEtcd } from "./etcd-store.ts";
import { KubernetesService } from "./kubernetes-service.ts";
import { PooledService } from "./pooled-service.ts";
import { SimulatedQuorum } from "./quorum-store.ts";
import { SimulatedObjects } from "./object-store.ts";
import { RedisService } from "./redis-service.ts";
import { SimulatedRecords } from "./record-store.ts";
import type { SimulatedStore } from "./simulated-store.ts";
import { SimulatedVoting } from "./voting-store.ts";

/** The trusted difference between the clocks of DynamoDB's hosts, to either side of the service's own time. */
const HOSTS_APART_MS = 500;

/** Makes a service of one kind. */
type Open = (world: VirtualClock, rate: number, random: SeededRandom, candidates: number) => SimulatedStore;

const STORES = {
  /** Polled, and without a clock. */
  records: (world) => records(world, {}),
  /** Pushes every write, and tells ages exactly, like Firestore. */
  "records with a push": (world, rate) =>
    records(world, { pushes: true, storeClock: { toleranceMs: 0, exact: true }, clockRate: rate }),
  /**
   * Like PostgreSQL: it pushes all writes but renewals, and has a clock that may step. It may show writes that a failover undoes.
   * A pool of connections reaches it.
   */
  "records with a clock": (world, rate) => {
    const storeClock = { toleranceMs: 100, exact: false, mayStep: true };
    const service = new SimulatedRecordService(world, { pushes: true, storeClock, showsUndurable: true, clockRate: rate });
    return new SimulatedRecords(world, new PooledService(service), { storeClock });
  },
  /** The real Redis provider. Its clock may step, and it may show writes that a failover undoes. */
  redis: (world, rate) => {
    const storeClock = { toleranceMs: 100, exact: false, mayStep: true };
    return new SimulatedRecords(world, new RedisService(world, rate), { storeClock });
  },
  /** The real provider of object storage. Its fence holds once the newer term has sealed. */
  objects: (world, rate) => new SimulatedObjects(world, rate),
  /** The real Kubernetes provider, over our own API server. It pushes, and has no clock. */
  kubernetes: (world) => new SimulatedRecords(world, new KubernetesService(world)),
  /** The real DynamoDB provider and SDK. */
  dynamodb: (world, _, random) => new SimulatedDynamoDB(world, () => random.between(-HOSTS_APART_MS, HOSTS_APART_MS)),
  /** The real Azure provider and SDK. */
  blob: (world, rate) => new SimulatedBlobs(world, rate),
  /** The real provider of etcd, whose elections are queues. */
  etcd: (world, rate, random) => new SimulatedEtcd(world, rate, random),
  /** No store at all: the real voters, in the candidates' processes. */
  voting: (world, _, random, candidates) => new SimulatedVoting(world, random, candidates > 3 ? 5 : random.pick([3, 3, 5])),
  /** A majority of three stores of records, which fail one at a time. */
  quorum: (world, _, random) => new SimulatedQuorum(world, random, {}),
  /** The same. Each member tells ages exactly, and so does a majority of them. */
  "quorum with clocks": (world, rate, random) =>
    new SimulatedQuorum(world, random, { storeClock: { toleranceMs: 0, exact: true }, clockRate: rate }),
} satisfies Record<string, Open>;

function records(world: VirtualClock, options: SimulatedRecordServiceOptions): SimulatedRecords {
  return new SimulatedRecords(world, new SimulatedRecordService(world, options), options);
}

export type StoreKind = keyof typeof STORES;

export const STORE_KINDS: readonly StoreKind[] = Object.keys(STORES) as StoreKind[];

export function isQuorum(kind: StoreKind): boolean {
  return kind === "quorum" || kind === "quorum with clocks";
}

/** True if its fence holds only once the newer term has sealed the register. */
export function holdsAfterSeal(kind: StoreKind): boolean {
  return kind === "blob" || kind === "objects";
}

/** True if candidates may use ages by its clock, which may be set, or be another server's after a failover. */
export function clockMayStep(kind: StoreKind): boolean {
  return ["records with a clock", "redis", "dynamodb"].includes(kind);
}

export function openStore(kind: StoreKind, ...[world, rate, random, candidates]: Parameters<Open>): SimulatedStore {
  return STORES[kind](world, rate, random, candidates);
}
