import type { AcquireOutcome, AcquireRequest, Lease } from "@leasehold/core/provider";
import type { LeaseStore } from "@leasehold/core";
import { assertStoreError, type Ending, type Scenario } from "../scenario.ts";
import type { Faults, HeldRequests, UnreliableConnection } from "../store-under-test.ts";

/** A store whose network can fail, and one whose network works. */
export interface UnequalPair extends UnreliableConnection {
  readonly other: LeaseStore;
}

/** Returns a pair of stores, both of which have seen that a leader has released. */
export async function vacantLease(scene: Scenario): Promise<UnequalPair> {
  const pair = await unequalPair(scene);
  await scene.leadOnce(pair.other);
  await scene.look(pair.store);
  return pair;
}

/** Returns a pair of stores. The one whose network can fail has the lease, and the other one has seen that. */
export async function heldLease(
  scene: Scenario,
  options?: Partial<AcquireRequest>,
): Promise<UnequalPair & { readonly lease: Lease }> {
  const pair = await unequalPair(scene);
  const lease = await scene.win(pair.store, "a", options);
  await scene.look(pair.other);
  return { ...pair, lease };
}

async function unequalPair(scene: Scenario): Promise<UnequalPair> {
  const { store, faults } = await scene.connectUnreliably();
  const [other] = await scene.connect(1);
  return { store, faults, other };
}

/** Sends a request that is held until `letGo()`; later requests get through. */
export async function sendLate<T>(
  faults: Faults,
  send: () => Promise<T>,
): Promise<{ readonly held: HeldRequests; readonly sent: Promise<T> }> {
  const held = await faults.hold();
  const sent = send();
  // On a slow machine the request may be given up before it has arrived.
  await Promise.race([held.arrived, sent.catch(() => undefined)]);
  await faults.heal();
  return { held, sent };
}

/**
 * Checks an acquisition whose outcome is unknown. Either its process has won the lease, or any process can win it at once.
 * Exactly one process has the lease.
 */
export async function wonOrFree(
  scene: Scenario,
  store: LeaseStore,
  other: LeaseStore,
  ending: Ending<AcquireOutcome>,
): Promise<void> {
  if ("error" in ending) assertStoreError(ending.error);
  const outcome = "value" in ending && ending.value.acquired ? ending.value : await scene.attempt(store, "a");
  if (outcome.acquired) {
    await scene.keep(store, outcome.lease);
    await scene.lose(other, "b");
    await scene.leave(store, outcome.lease);
  }
  await scene.win(other, "b");
}
