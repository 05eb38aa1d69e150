// The status of a fleet: its members, and the state of each shard.

import { timing, type LeaseStore } from "@leasehold/core";
import { DEFAULT_REQUEST_TIMEOUT_MS, sharedClock } from "@leasehold/core/provider";
import { FleetNames } from "./fleet-names.ts";
import { DEFAULT_LEASE_MS, storeOf } from "./fleet-options.ts";
import { FleetRecords } from "./fleet-records.ts";
import { isSession, type Entry } from "./plan.ts";
import { decodeReport } from "./report.ts";

/** One member of a fleet, as its own record shows it. */
export interface MemberStatus {
  /** The name of the lease of this member's session. */
  readonly election: string;
  readonly memberId: string;
  /** The state of the lease of this member's session. The first read may return `unknown` if the store has no exact clock. */
  readonly state: "held" | "ending" | "expired" | "unknown";
  readonly term: number;
  /** True once this member was asked to stop. Other members take its shards over. */
  readonly isStopping: boolean;
  /** The number of shards that the plan grants to this member. */
  readonly shards: number;
  /** The time since the member's last renewal, in milliseconds; 0 if the reader cannot know it. */
  readonly ageMs: number;
}

/**
 * One shard of a fleet.
 * - `held`: the plan grants the shard to a member whose session is held.
 * - `leaving`: its member is asked to let the shard go.
 * - `lost`: the session of its member has expired, was ended, or is over.
 * - `unknown`: the state of its member is unknown.
 * - `failing`: the shard is free after failures. It rests, or waits for another member.
 * - `free`: no member has the shard.
 */
export interface ShardStatus {
  readonly name: string;
  readonly state: "held" | "leaving" | "lost" | "unknown" | "failing" | "free";
  readonly memberId?: string | undefined;
  /** The fencing term; absent while no member has it. */
  readonly term?: number | undefined;
  /** The number of failures in a row. */
  readonly failures: number;
}

export interface FleetStatus {
  readonly fleet: string;
  /** The revision of the plan; 0 if there is none. */
  readonly revision: number;
  /** The label of the coordinator, if there is one. */
  readonly coordinator?: string | undefined;
  /** True if shards have fences. */
  readonly fenced: boolean;
  /** True while {@link resetFleet} is under way. No shard is granted then. */
  readonly isResetting: boolean;
  readonly members: readonly MemberStatus[];
  readonly shards: readonly ShardStatus[];
}

/**
 * Reads a fleet with one or two lists and two reads. The result is no snapshot: a shard may move between these requests.
 * @throws {ConfigurationError | UnsupportedError} at once for bad input. {StoreError} if a request fails.
 */
export async function readFleet(store: LeaseStore, fleet: string): Promise<FleetStatus> {
  const records = openFleet(store, fleet);
  const { names, store: leases } = records.options;
  const hasClock = leases.capabilities.storeClock !== undefined;
  const [head, stored, first] = await Promise.all([
    leases.read(names.head, { expiry: hasClock ? "store-clock" : "observed" }),
    records.readPlan(true),
    records.listMembers(),
  ]);
  // If a store's clock is inexact, an age counts only after a second list has confirmed it.
  const isUnsure = hasClock && [...first.values()].some(({ state }) => state === "unknown");
  const listed = isUnsure ? await records.listMembers() : first;
  const { revision = 0, fenced = false, isResetting = false, members: named, shards } = stored?.plan ?? {};
  const counts = new Map<number | undefined, number>();
  for (const { slot } of shards?.values() ?? []) counts.set(slot, (counts.get(slot) ?? 0) + 1);
  const owners = new Map<number | undefined, MemberStatus>();
  const members: MemberStatus[] = [];
  for (const [slot, { election, state, term, holder = "", value, ageMs: [ageMs] = [0] }] of listed) {
    if (state === "vacant") continue;
    const report = decodeReport(value);
    const planned = named?.get(slot);
    const granted = planned?.term === term ? (counts.get(slot) ?? 0) : 0;
    const { name: memberId = holder, stopping: isStopping = false } = report ?? {};
    const member: MemberStatus = { election, memberId, state, term, isStopping, shards: granted, ageMs };
    members.push(member);
    if (planned && isSession(planned, { term, state, report })) owners.set(slot, member);
  }
  const coordinator = head?.state === "vacant" || head?.state === "expired" ? undefined : head?.holder;
  const statuses = Array.from(shards ?? [], ([name, entry]) => shardStatus(name, entry, owners.get(entry.slot)));
  return { fleet, revision, coordinator, fenced, isResetting, members, shards: statuses };
}

/** Opens the records of a fleet for a process that is not a member. */
export function openFleet(given: LeaseStore, fleet: string): FleetRecords {
  const store = storeOf(given);
  const names = new FleetNames(fleet);
  const times = timing({ leaseDurationMs: DEFAULT_LEASE_MS, attemptTimeoutMs: DEFAULT_REQUEST_TIMEOUT_MS });
  return new FleetRecords({ store, clock: sharedClock(store, undefined), names, memberId: "operator", timing: times });
}

function shardStatus(name: string, { slot, since, leaving, fails }: Entry, owner: MemberStatus | undefined): ShardStatus {
  if (slot === undefined) return { name, state: fails > 0 ? "failing" : "free", failures: fails };
  const isHeld = owner?.state === "held";
  const state = owner?.state === "unknown" ? "unknown" : !isHeld ? "lost" : leaving ? "leaving" : "held";
  return { name, state, memberId: owner?.memberId, term: since, failures: fails };
}
