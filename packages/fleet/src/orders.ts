// The orders of an operator. Each order changes the plan by compare-and-swap, as a coordinator does.

import { ConfigurationError, type LeaseSnapshot, type LeaseStore } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { DEFAULT_LEASE_MS, storeOf } from "./fleet-options.ts";
import type { FleetRecords } from "./fleet-records.ts";
import { openFleet, type MemberStatus } from "./fleet-status.ts";
import { decodeHead, decodePlan } from "./plan-text.ts";
import { emptyPlan, ownerOf } from "./plan.ts";
import { decodeReport } from "./report.ts";

/** An order tries this many times to write the plan, because a coordinator may write it at the same time. */
const TRIES = 8;

/**
 * Asks the holder of a shard to leave it. Another member gets the shard, as after a failure. If there is no other member, the
 * task begins anew. Returns false if that term of the shard is over. A repeated order does nothing.
 * @param options.ifTerm the term of the shard, as {@link readFleet} shows it.
 * @throws {ConfigurationError | UnsupportedError} at once for bad input. {StoreError} if a request fails: repeat the order then.
 */
export async function releaseShard(
  store: LeaseStore,
  fleet: string,
  shard: string,
  { ifTerm }: { readonly ifTerm: number },
): Promise<boolean> {
  const records: FleetRecords = openFleet(store, fleet);
  records.options.names.checkShard(shard);
  if (!Number.isSafeInteger(ifTerm))
    throw new ConfigurationError(`ifTerm is ${String(ifTerm)}; it must be the term of the shard.`);
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { plan, version } = (await records.readPlan(true)) ?? {};
    const entry = plan?.shards.get(shard);
    const owner = plan && entry && ownerOf(plan, entry);
    if (entry?.slot === undefined || !owner || entry.since !== ifTerm) return false;
    if (entry.leaving) return await records.tell(plan.revision);
    const revision = plan.revision + 1;
    const members = new Map(plan.members).set(entry.slot, { ...owner, asked: revision });
    const shards = new Map(plan.shards).set(shard, { ...entry, leaving: true, released: true });
    if (await records.writePlan({ ...plan, revision, members, shards }, version)) return await records.tell(revision);
  }
  throw wroteFirst(fleet);
}

/**
 * Ends the session of a member. Its shards move once the lease has run out, and its process joins again. Returns false if the
 * session was already over.
 * @throws {ConfigurationError | UnsupportedError} at once for bad input. {StoreError} if a request fails.
 */
export async function evictMember(store: LeaseStore, { election, term }: MemberStatus): Promise<boolean> {
  return (await storeOf(store).break(election, { reason: "evicted by an operator", ifTerm: term })).broken;
}

/**
 * Replaces a plan that was deleted, restored or damaged. Ends all sessions. No member is granted a shard until the longest lease
 * has passed. The reset takes that long, or longer if a list of the members lags. If the reset is interrupted, repeat it: until
 * then no shard is granted. Returns the revision of the new plan.
 * @throws {ConfigurationError | UnsupportedError} at once for bad input, and if the store has no record of the fleet.
 * @throws {StoreError} if a request fails. {ForeignRecordError} if Leasehold has not written the plan's record.
 */
export async function resetFleet(
  store: LeaseStore,
  fleet: string,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<{ readonly revision: number }> {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw new ConfigurationError("signal must be an AbortSignal.");
  const records = openFleet(store, fleet);
  const { names, clock, store: leases } = records.options;
  const found = await records.read(names.plan, true);
  const terms = found ? [found.term] : [];
  let leaseMs = DEFAULT_LEASE_MS;
  try {
    leaseMs = Math.max(leaseMs, decodePlan(found?.record?.value ?? "").leaseMs);
  } catch {
    // The plan is damaged, or gone.
  }
  const note = ({ leaseDurationMs = 0 }: Pick<LeaseSnapshot, "leaseDurationMs">, term: number): void => {
    terms.push(term);
    leaseMs = Math.max(leaseMs, leaseDurationMs);
  };
  for (const member of (await records.listMembers()).values()) note(member, decodeReport(member.value)?.known ?? 0);
  if (records.told > 0) terms.push(records.told);
  const head = await leases.read(names.head);
  if (head) note(head, decodeHead(head.value).revision);
  for await (const shard of leases.list(names.shards)) if (shard.state !== "foreign") note(shard, shard.term);
  if (terms.length === 0) throw new ConfigurationError(`The store has no record of a fleet '${fleet}'; is that its name?`);
  // This revision is higher than all terms of the fleet.
  const revision = Math.max(...terms, Math.floor(clock.wallMs() / 1_000)) + 1;
  const plan = emptyPlan(revision, leaseMs);
  // This plan marks the reset, and grants nothing.
  if (!(await records.writePlan({ ...plan, isResetting: true }, found?.version))) throw wroteFirst(fleet);
  await records.tell(revision);
  for (let isFirst = true, isDone = false; !isDone; isFirst = false) {
    isDone = !isFirst;
    for (const [slot, { state, term, value, leaseDurationMs = 0 }] of await records.listMembers()) {
      leaseMs = Math.max(leaseMs, leaseDurationMs);
      // The list may lag. A later list shows the living sessions with an older plan that the first list lacks.
      const { applied = 0 } = decodeReport(value) ?? {};
      const isOlder = (state === "held" || state === "unknown") && applied > 0 && applied < revision;
      if (isFirst ? state === "vacant" || term === 0 : !isOlder) continue;
      isDone = false;
      await leases.break(names.member(slot), { reason: "the fleet is reset", ifTerm: term });
    }
    if (!isDone) await sleep(clock, leaseMs, signal);
  }
  const next = { ...plan, revision: revision + 1 };
  for (let tries = 0; tries < TRIES; tries += 1) {
    // A coordinator that has read this plan writes it once more, which changes the version.
    const stored = await records.readPlan(true);
    if (stored?.plan.revision !== revision) break;
    if (!(await records.writePlan(next, stored.version))) continue;
    await records.tell(next.revision);
    return { revision: next.revision };
  }
  throw wroteFirst(fleet);
}

function wroteFirst(fleet: string): Error {
  return new Error(`Other processes wrote the plan of '${fleet}' at the same time. Repeat the order.`);
}
