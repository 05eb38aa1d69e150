import type { LeaseStore } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, expect, test } from "vitest";
import { LeaseWatch } from "../src/election/lease-watch.ts";

const LEASE = {} as Lease;

let clock: VirtualClock;
/** The instants of the renewals that a watch has asked for. */
let renewedMs: number[];
let watch: LeaseWatch;
let hasBegun: boolean;
let woken: PromiseWithResolvers<void>;

const store = { watchLease: wakes } as Partial<LeaseStore> as LeaseStore;

async function* wakes(): AsyncGenerator<void> {
  hasBegun = true;
  for (;;) {
    await woken.promise;
    woken = Promise.withResolvers();
    yield;
  }
}

async function wake(): Promise<void> {
  woken.resolve();
  await clock.advance(0);
}

beforeEach(() => {
  clock = new VirtualClock();
  const startedMs = clock.monotonicMs();
  renewedMs = [];
  hasBegun = false;
  woken = Promise.withResolvers();
  watch = new LeaseWatch(clock, () => void renewedMs.push(clock.monotonicMs() - startedMs));
});

test("a watch begins after a second, and a wake-up renews at once", async () => {
  watch.start(store, LEASE);
  await clock.advance(999);
  expect(hasBegun).toBe(false);
  await clock.advance(1);
  await wake();
  expect(renewedMs).toEqual([1_000]);
});

test("wake-ups renew once a second at most", async () => {
  watch.start(store, LEASE);
  await clock.advance(1_000);
  await wake();
  await clock.advance(999);
  await wake();
  expect(renewedMs).toEqual([1_000]);
  await clock.advance(1);
  await wake();
  expect(renewedMs).toEqual([1_000, 2_000]);
});

test("a wake-up after the end renews nothing, and a watch that is cancelled early never starts", async () => {
  watch.start(store, LEASE);
  await clock.advance(1_000);
  watch.cancel();
  await wake();
  expect(renewedMs).toEqual([]);
  hasBegun = false;
  const other = new LeaseWatch(clock, () => undefined);
  other.start(store, LEASE);
  other.cancel();
  await clock.advance(2_000);
  expect(hasBegun).toBe(false);
});

test("a store whose watch throws ends no leadership", async () => {
  const watchLease = (): never => {
    throw new Error("no such lease");
  };
  watch.start({ ...store, watchLease }, LEASE);
  await clock.advance(2_000);
  expect(renewedMs).toEqual([]);
});
