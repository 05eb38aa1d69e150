import { Elector, MemoryLeaseStore, type LeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, expect, test } from "vitest";
import { ELECTION } from "@leasehold/test-kit/acquisitions";

let clock: VirtualClock;
let store: LeaseStore;
let woken: PromiseWithResolvers<void>;
/** The signal that ends the store's watch. */
let watching: AbortSignal | undefined;

beforeEach(() => {
  clock = new VirtualClock();
  store = new MemoryLeaseStore({ clock });
  woken = Promise.withResolvers();
  watching = undefined;
  store.watchLease = async function* wakes(_lease, { signal }) {
    watching = signal;
    for (;;) {
      await woken.promise;
      woken = Promise.withResolvers();
      yield;
    }
  };
});

test("a leader renews at once when its store says that the lease may be gone", async () => {
  const elector = new Elector({ store, election: ELECTION, clock });
  const startMs = clock.monotonicMs();
  const renewedMs: number[] = [];
  elector.on("renewed", () => renewedMs.push(clock.monotonicMs() - startMs));
  const leadership = await elector.campaign();
  await clock.advance(2_000);
  woken.resolve();
  await clock.advance(8_000);

  // The renewals of the grid go on.
  expect(renewedMs).toEqual([2_000, 5_000, 10_000]);
  await leadership.release();
});

test("the watch of a lease ends once renewals are closed, though the task is still pending", async () => {
  const elector = new Elector({ store, election: ELECTION, clock });
  const leadership = await elector.campaign();
  await clock.advance(2_000);
  expect(watching?.aborted).toBe(false);
  await store.break(ELECTION, { reason: "a test" });
  await clock.advance(3_000);

  expect(leadership.signal.aborted).toBe(true);
  expect(leadership.isValid()).toBe(true);
  expect(watching?.aborted).toBe(true);
  await leadership.release();
});

test("the watch of a lease ends with its term", async () => {
  const elector = new Elector({ store, election: ELECTION, clock });
  const leadership = await elector.campaign();
  await clock.advance(2_000);
  await leadership.release();

  expect(watching?.aborted).toBe(true);
});
