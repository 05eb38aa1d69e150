import { cost, HOURS, type Cost, type Factor, type Price } from "@leasehold/test-kit/costs/cost";
import {
  BLOB_OPERATION,
  BLOB_WRITE,
  DYNAMODB_READ,
  DYNAMODB_WRITE,
  FIRESTORE_READ,
  FIRESTORE_WRITE,
} from "@leasehold/test-kit/costs/request-prices";
import type { StoreName } from "@leasehold/test-kit/stores/stores";
import type { Requests } from "../../programs/bench/request-counter.ts";

/** What elections ask of a store at the defaults, as tests count it, and what the cloud charges for that. */
export interface Usage {
  readonly title: string;
  /** In an hour. */
  readonly leader: Requests;
  /** In an hour, each. */
  readonly standby: Requests;
  /** How often in an hour a standby is told something that is paid for like a read. */
  readonly told?: number;
  /** One invocation that does an occurrence of its schedule, and one that finds that another has done it. */
  readonly tick: Requests;
  readonly idleTick: Requests;
  /** Absent where nobody charges for requests. */
  readonly prices?: Prices;
}

/** What is paid for a request. */
interface Prices {
  /** Of those that lease, look and renew. */
  readonly write: Price;
  readonly read: Price;
  /** Of what an occurrence writes, where that costs something else. */
  readonly tickWrite?: Price;
  /** Of a standby's look, where it costs a part of a read. */
  readonly look?: Factor;
}

const requests = (reads: number, writes: number): Requests => ({ reads, writes });
const QUIET = requests(0, 0);
const RENEWED = requests(0, 720);
const FOUND_DONE = requests(1, 0);

/** A quorum costs what its members do, and servers that vote their processes. */
export type ChargedStore = Exclude<StoreName, "quorum" | "voting">;

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
  firestore: {
    title: "Firestore",
    leader: RENEWED,
    standby: QUIET,
    // It is told each renewal, and pays for that as for a read.
    told: 720,
    tick: requests(2, 3),
    idleTick: FOUND_DONE,
    prices: { write: FIRESTORE_WRITE, read: FIRESTORE_READ },
  },
  // Who claims it need not look; and a claim that is refused is a look.
  postgres: sql("PostgreSQL", 1_100),
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
/** What months have: hours, and minutes with a tick in each. */
export const TICKS: Factor = [60 * 730, "ticks"];

/** What one of them costs in a month. */
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
