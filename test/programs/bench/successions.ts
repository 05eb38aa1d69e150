import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Elector, type LeaseStore } from "@leasehold/core";
import { win } from "@leasehold/test-kit/acquisitions";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

const ELECTIONS = 5;
/** On a busy machine a shorter lease might be lost during the setup. */
const SHORTEST_LEASE_MS = 6_000;

/** How long standbys took to lead, in milliseconds. */
export interface Successions {
  /** From the call of `stop` on a leader to the start of the standby's term. */
  readonly handoverMs: readonly number[];
  /**
   * From the end of a crashed leader's lease to the start of the standby's term. The lease counts from the send of the last
   * renewal.
   */
  readonly takeoverMs: readonly number[];
}

interface Pair {
  readonly leader: LeaseStore;
  readonly standby: LeaseStore;
  /** The shortest lease that the store is used with, in milliseconds. */
  readonly shortestLeaseMs: number;
  /** Ends everything else that ends together with the leader's process. */
  readonly crash: () => Promise<void>;
}

/** Stops leaders one after the other, and then makes others crash at once. */
export async function successions({ leader, standby, shortestLeaseMs, crash }: Pair): Promise<Successions> {
  const leaseMs = Math.max(shortestLeaseMs, SHORTEST_LEASE_MS);
  const handoverMs: number[] = [];
  const stopping = await Promise.all(Array.from({ length: ELECTIONS }, () => campaigns(leader, standby, leaseMs)));
  // Gives the standbys time to read the leader.
  await delay(leaseMs / 2);
  for (const { first, next } of stopping) {
    const fromMs = performance.now();
    const [leadsMs] = await Promise.all([next.leadsMs, first.elector.stop()]);
    handoverMs.push(leadsMs - fromMs);
    await next.elector.stop();
  }

  const crashing = await Promise.all(Array.from({ length: ELECTIONS }, () => held(leader, standby, leaseMs)));
  await delay(leaseMs / 2);
  const ends = await Promise.all(
    crashing.map(async ({ renew, next }) => {
      const sentMs = performance.now();
      await renew();
      return { next, endMs: sentMs + leaseMs };
    }),
  );
  await crash();
  const takeoverMs = await Promise.all(ends.map(async ({ next, endMs }) => (await next.leadsMs) - endMs));
  await Promise.all(crashing.map(async ({ next }) => next.elector.stop()));
  return { handoverMs, takeoverMs };
}

interface Candidate {
  readonly elector: Elector;
  /** When it begins to lead, by `performance.now()`. */
  readonly leadsMs: Promise<number>;
}

/** Starts a leader and a standby. */
async function campaigns(
  leader: LeaseStore,
  standby: LeaseStore,
  leaseMs: number,
): Promise<{ readonly first: Candidate; readonly next: Candidate }> {
  const election = `bench-${randomUUID()}`;
  const first = campaign(leader, election, leaseMs);
  await first.leadsMs;
  return { first, next: campaign(standby, election, leaseMs) };
}

/** Acquires a lease for a leader that does nothing by itself, and starts a standby. */
async function held(
  leader: LeaseStore,
  standby: LeaseStore,
  leaseMs: number,
): Promise<{ readonly renew: () => Promise<void>; readonly next: Candidate }> {
  const election = `bench-${randomUUID()}`;
  const limits = { timeoutMs: leaseMs / 3 };
  const lease = await win(leader, { ...limits, election, leaseDurationMs: leaseMs, renewIntervalMs: leaseMs / 3 });
  const renew = async (): Promise<void> => {
    const { held: isHeld } = await leader.renew(lease, limits);
    if (!isHeld) throw new Error(`The lease of '${election}' was lost before its leader crashed.`);
  };
  return { renew, next: campaign(standby, election, leaseMs) };
}

function campaign(store: LeaseStore, election: string, leaseMs: number): Candidate {
  const elector = new Elector({ store, election, leaseDurationMs: leaseMs });
  const { promise, resolve } = Promise.withResolvers<number>();
  elector.on("startedLeading", () => resolve(performance.now()));
  void elector.run(untilAborted);
  return { elector, leadsMs: promise };
}
