import { cost, HOURS, type Cost, type Factor } from "@leasehold/test-kit/costs/cost";
import type { Requests } from "../../programs/bench/request-counter.ts";
import { many, TICKS, USAGES, type ChargedStore, type Who } from "./usage.ts";

/**
 * The requests to each member: of a leader and a standby in an hour, and for each tick. A quorum does not push renewals, so its
 * standbys poll.
 */
export const OF_A_MEMBER: Readonly<Record<Who, Requests>> = {
  leader: { reads: 0, writes: 720 },
  standby: { reads: 2_300, writes: 0 },
  // A new occurrence is claimed by a promise and a write. A member without a record of it is asked for marker and roster.
  tick: { reads: 8, writes: 5 },
  // The markers and the roster are read first.
  idleTick: { reads: 3, writes: 0 },
};

/** Choices of members, the same as in the guide site/pages/quorum.md. A member without a price for requests costs a server. */
export const CHOICES: ReadonlyArray<{ readonly title: string; readonly members: readonly ChargedStore[] }> = [
  { title: "DynamoDB in three regions", members: ["dynamodb", "dynamodb", "dynamodb"] },
  { title: "DynamoDB, Firestore, and a PostgreSQL that you have", members: ["dynamodb", "firestore", "postgres"] },
  { title: "Firestore in three regions", members: ["firestore", "firestore", "firestore"] },
  { title: "three databases that you have", members: ["postgres", "mysql", "postgres"] },
];

/** A record of a quorum has more than 1 KB, and less than 4. */
const TWO_UNITS: Factor = [2, "units, as it has more than 1 KB"];

/** Returns the monthly cost of a leader, a standby or a tick at one member. */
export function costsAt(member: ChargedStore, who: Who): readonly Cost[] {
  const { prices } = USAGES[member];
  if (prices === undefined) return [];
  const { reads, writes } = OF_A_MEMBER[who];
  const { read, write, tickWrite = write, look } = prices;
  const isTick = who === "tick" || who === "idleTick";
  const times = isTick ? TICKS : HOURS;
  const units = member === "dynamodb" ? [TWO_UNITS] : [];
  return [
    ...(writes > 0 ? [cost(isTick ? tickWrite : write, many(writes, "write"), ...units, times)] : []),
    ...(reads > 0 ? [cost(read, many(reads, "read"), ...(look && who === "standby" ? [look] : []), times)] : []),
  ];
}
