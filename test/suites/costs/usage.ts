import { cost, HOURS, type Cost, type Factor, type Price } from "@leasehold/test-kit/costs/cost";
import {
  BLOB_OPERATION,
  BLOB_WRITE,
  DYNAMODB_READ,
  DYNAMODB_WRITE,
  FIRESTORE_READ,
  FIRESTORE_WRITE,
  OBJECT_READ,
  OBJECT_WRITE,
} from "@leasehold/test-kit/costs/request-prices";
import type { StoreName } from "@leasehold/test-kit/stores/stores";
import type { Requests } from "../../programs/bench/request-counter.ts";

/** The requests of elections to a store at the defaults, as tests count them, and the cloud's prices for them. */
export interface Usage {
  readonly title: string;
  /** The requests in an hour. */
  readonly leader: Requests;
  /** The requests of each standby in an hour. */
  readonly standby: Requests;
  /** The number of pushes to a standby in an hour that are charged like a read. */
  readonly told?: number;
  /** An invocation that does an occurrence of its schedule, and one that finds the occurrence done. */
  readonly tick: Requests;
  readonly idleTick: Requests;
  /** Absent if the service does not charge for requests. */
  readonly prices?: Prices;
}

/** The prices of requests. */
interface Prices {
  /** The price of a request that leases, polls or renews. */
  readonly write: Price;
  readonly read: Price;
  /** The price of a write for an occurrence, if it differs. */
  readonly tickWrite?: Price;
  /** The price of a standby's poll as a part of a read, if it costs less. */
  readonly look?: Factor;
}

const requests = (reads: number, writes: number): Requests => ({ reads, writes });
const QUIET = requests(0, 0);
const RENEWED = requests(0, 720);
const FOUND_DONE = requests(1, 0);

/** A quorum costs the same as its members, and voting servers cost their processes. Kubernetes keeps no occurrences to count. */
export type ChargedStore = Exclude<StoreName, "quorum" | "voting" | "kubernetes">;

export const USAGES: Readonly<Record<ChargedStore, Usage>> = {
  dynamodb: {
    title: "DynamoDB, on demand",
    leader: RENEWED,
    standby: requests(2_300, 0),
    tick: requests(3, 3),
    idleTick: FOUND_DONE,
    prices: { write: DYNAMODB_WRITE, read: DYNAMODB_READ, look: [0.5, "since it need not be consistent"] },
  },
  azure: {
    title: "Azure, a blob",
    leader: RENEWED,
    standby: requests(2_200, 0),
    tick: requests(3, 3),
    idleTick: FOUND_DONE,
    prices: { write: BLOB_OPERATION, read: BLOB_OPERATION, tickWrite: BLOB_WRITE },
  },
  s3: {
    title: "S3, an object",
    leader: RENEWED,
    standby: requests(2_300, 0),
    tick: requests(3, 3),
    idleTick: FOUND_DONE,
    prices: { write: OBJECT_WRITE, read: OBJECT_READ },
  },
  firestore: {
    title: "Firestore",
    leader: RENEWED,
    standby: QUIET,
    // Each renewal is pushed to a standby, and charged like a read.
    told: 720,
    tick: requests(2, 3),
    idleTick: FOUND_DONE,
    prices: { write: FIRESTORE_WRITE, read: FIRESTORE_READ },
  },
  // A claim needs no poll before it, and a claim that is refused serves as a poll.
  postgres: sql("PostgreSQL", 1_100),
  redis: sql("Redis, Valkey", 1_100),
  mysql: sql("MySQL, MariaDB", 2_300),
  sqlite: sql("SQLite", 2_300),
  etcd: {
    title: "etcd",
    leader: requests(720, 720),
    standby: requests(720, 720),
    tick: requests(2, 3),
    idleTick: FOUND_DONE,
  },
};

export const CHARGED_STORES: readonly ChargedStore[] = Object.keys(USAGES) as ChargedStore[];

function sql(title: string, looks: number): Usage {
  return { title, leader: RENEWED, standby: requests(looks, 0), tick: requests(2, 3), idleTick: FOUND_DONE };
}

export const WHO = ["leader", "standby", "tick", "idleTick"] as const;
export type Who = (typeof WHO)[number];
/** The units of a month: hours, and minutes with a tick in each. */
export const TICKS: Factor = [60 * 730, "ticks"];

/** Returns the monthly cost of a leader, a standby or a tick. */
export function costsOf({ prices, told = 0, ...usage }: Usage, who: Who): readonly Cost[] {
  if (prices === undefined) return [];
  const { reads, writes } = usage[who];
  const { read, write, tickWrite = write, look } = prices;
  const isTick = who === "tick" || who === "idleTick";
  const times = isTick ? TICKS : HOURS;
  return [
    ...(writes > 0 ? [cost(isTick ? tickWrite : write, many(writes, "write"), times)] : []),
    ...(reads > 0 ? [cost(read, many(reads, "read"), ...(look && who === "standby" ? [look] : []), times)] : []),
    ...(told > 0 && who === "standby" ? [cost(read, [told, "renewals that it is told"], times)] : []),
  ];
}

export function many(count: number, what: string): Factor {
  return [count, count === 1 ? what : `${what}s`];
}
