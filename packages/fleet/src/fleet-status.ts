// A fleet as a reader finds it: its members, and the state of each shard.

import type { LeaseSnapshot, LeaseStore } from "@leasehold/core";
import { DEFAULT_REQUEST_TIMEOUT_MS, sharedClock, type Clock } from "@leasehold/core/provider";
import { FleetNames } from "./fleet-names.ts";
import { storeOf } from "./fleet-options.ts";
import { FleetRecords } from "./fleet-records.ts";
import { isSession, type Entry, type Plan } from "./plan.ts";
import { decodeReport } from "./report.ts";

/** One member of a fleet, as of its own read. */
export interface MemberStatus {
  /** The name of its session's lease. */
  readonly election: string;
  readonly memberId: string;
  /** The state of its session's lease. `unknown` where a first read says so. */
  readonly state: "held" | "ending" | "expired" | "unknown";
  readonly term: number;
  /** True once it has been asked to hand everything over. */
  readonly isStopping: boolean;
  /** The number of shards that the plan gives it. */
  readonly shards: number;
  /** The time since its last renewal, in milliseconds; 0 if the reader cannot tell. */
  readonly ageMs: number;
}

/**
 * One shard of a fleet.
 * - `held`: the plan gives it to a member, whose session is held.
 * - `leaving`: its member is asked to hand it over.
 * - `lost`: the session of its member has expired, was ended, or is over.
 * - `unknown`: its member's state is unknown.
 * - `failing`: free after failures; it rests, or waits for another member.
 * - `free`: no member has it.
 */
export interface ShardStatus {
  readonly name: string;
  readonly state: "held" | "leaving" | "lost" | "unknown" | "failing" | "free";
  readonly memberId?: string | undefined;
  /** The fencing term; absent while no member has it. */
  readonly term?: number | undefined;
  /** The failures in a row. */
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
  /** True while {@link resetFleet} is under way: no shard is granted. */
  readonly isResetting: boolean;
  readonly members: readonly MemberStatus[];
  readonly shards: readonly ShardStatus[];
}

/**
 * Reads a fleet by a list, or two, and two reads. They are no snapshot: a shard may have moved in between.
 * @throws {ConfigurationError | UnsupportedError} at once for bad input.
 * @throws {StoreError} if a request fails.
 */
export async function readFleet(store: LeaseStore, fleet: string): Promise<FleetStatus> {
  const { records, names } = openFleet(store, fleet);
  const leases = storeOf(store);
  const hasClock = leases.capabilities.storeClock !== undefined;
  const [head, stored, first] = await Promise.all([
    leases.read(names.head, { timeoutMs: DEFAULT_REQUEST_TIMEOUT_MS, expiry: hasClock ? "store-clock" : "observed" }),
    records.readPlan(true),
    records.listMembers(),
  ]);
  // A store's clock that is not exact counts once a second list has confirmed it.
  const isUnsure = hasClock && [...first.values()].some(({ state }) => state === "unknown");
  const listed = isUnsure ? await records.listMembers() : first;
  const plan = stored?.plan;
  const owners = new Map<number, Owner>();
  const members: MemberStatus[] = [];
  for (const [slot, { election, state, term, holder = "", value, ageMs }] of listed) {
    const report = decodeReport(value);
    const named = plan?.members.get(slot);
    const memberId = report?.name ?? holder;
    if (named && isSession(named, { term, state, report })) owners.set(slot, { memberId, state });
    if (state === "vacant") continue;
    const shards = named?.term === term ? countOf(plan, slot) : 0;
    members.push({ election, memberId, state, term, isStopping: report?.stopping === true, shards, ageMs: ageMs?.[0] ?? 0 });
  }
  const shards = [...(plan?.shards ?? [])].map(([name, entry]) => shardStatus(name, entry, owners));
  const coordinator = head?.state === "vacant" || head?.state === "expired" ? undefined : head?.holder;
  const { revision = 0, fenced = false, isResetting } = plan ?? {};
  return { fleet, revision, coordinator, fenced, isResetting: isResetting === true, members, shards };
}

/** The session to which the plan gives a shard. */
interface Owner {
  readonly memberId: string;
  readonly state: LeaseSnapshot["state"];
}

/** Opens the records of a fleet for a process that is no member. */
export function openFleet(store: LeaseStore, fleet: string): { records: FleetRecords; names: FleetNames; clock: Clock } {
  const checked = storeOf(store);
  const names = new FleetNames(fleet);
  const clock = sharedClock(checked, undefined);
  const timing = { leaseDurationMs: 30_000, renewIntervalMs: 10_000, attemptTimeoutMs: DEFAULT_REQUEST_TIMEOUT_MS };
  return { records: new FleetRecords({ store: checked, clock, names, memberId: "operator", timing }), names, clock };
}

function countOf(plan: Plan | undefined, slot: number): number {
  return [...(plan?.shards.values() ?? [])].filter((entry) => entry.slot === slot).length;
}

function shardStatus(name: string, { slot, since, leaving, fails }: Entry, owners: ReadonlyMap<number, Owner>): ShardStatus {
  if (slot === undefined) return { name, state: fails > 0 ? "failing" : "free", failures: fails };
  const owner = owners.get(slot);
  return { name, state: stateOf(owner, leaving), memberId: owner?.memberId, term: since, failures: fails };
}

function stateOf(owner: Owner | undefined, leaving: boolean): ShardStatus["state"] {
  if (owner?.state === "unknown") return "unknown";
  if (owner?.state !== "held") return "lost";
  return leaving ? "leaving" : "held";
}
