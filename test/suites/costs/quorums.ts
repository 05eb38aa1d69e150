import { cost, HOURS, type Cost, type Factor } from "@leasehold/test-kit/costs/cost";
import type { Requests } from "../../programs/bench/request-counter.ts";
import { many, USAGES, type ChargedStore } from "./usage.ts";

/** What a leader and a standby ask of each member in an hour. A quorum is not told of renewals: its standbys look. */
export const OF_A_MEMBER: Readonly<Record<"leader" | "standby", Requests>> = {
  leader: { reads: 0, writes: 720 },
  standby: { reads: 2_300, writes: 0 },
};

export type QuorumWho = keyof typeof OF_A_MEMBER;

/** Choices of members: those of the guide, docs/quorum.md. Those that have no price for requests cost a server. */
export const CHOICES: ReadonlyArray<{ readonly title: string; readonly members: readonly ChargedStore[] }> = [
  { title: "DynamoDB in three regions", members: ["dynamodb", "dynamodb", "dynamodb"] },
  { title: "DynamoDB, Firestore, and a PostgreSQL that you have", members: ["dynamodb", "firestore", "postgres"] },
  { title: "Firestore in three regions", members: ["firestore", "firestore", "firestore"] },
  { title: "three databases that you have", members: ["postgres", "mysql", "postgres"] },
];

/** A record of a quorum has more than 1 KB, and less than 4. */
const TWO_UNITS: Factor = [2, "units, as it has more than 1 KB"];

/** What one of them costs in a month at one member. */
export function costsAt(member: ChargedStore, who: QuorumWho): readonly Cost[] {
  const { prices } = USAGES[member];
  if (prices === undefined) return [];
  const { reads, writes } = OF_A_MEMBER[who];
  const { read, write, look } = prices;
  if (who === "standby") return [cost(read, many(reads, "read"), ...(look ? [look] : []), HOURS)];
  return [cost(write, many(writes, "write"), ...(member === "dynamodb" ? [TWO_UNITS] : []), HOURS)];
}
