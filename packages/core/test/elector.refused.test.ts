import { Elector, MemoryLeaseStore, type LeaseSnapshot } from "@leasehold/core";
import type { AcquireOutcome } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";

/** A store on which no candidate leads and every attempt is refused. */
class RefusingStore extends MemoryLeaseStore {
  readonly attemptsMs: number[] = [];

  override acquire(): Promise<AcquireOutcome> {
    this.attemptsMs.push(Math.round(this.clock.monotonicMs()));
    return Promise.resolve({ acquired: false, current: undefined });
  }

  override read(): Promise<LeaseSnapshot | undefined> {
    return Promise.resolve(undefined);
  }

  override nextLookMs(): number {
    return 100;
  }
}

test("two candidates that are refused repeatedly do not keep attempting at the same instants", async () => {
  const clock = new VirtualClock(3);
  const stores = [new RefusingStore({ clock }), new RefusingStore({ clock })];
  const electors = stores.map((store) => new Elector({ store, clock, election: "e", logger: false }));
  const runs = electors.map((elector) => elector.run(() => undefined));
  await clock.advance(120_000);
  await clock.runUntil(Promise.all(electors.map((elector) => elector.stop())));
  await Promise.all(runs);
  const [one, other] = stores.map(({ attemptsMs }) => attemptsMs.slice(15));
  expect(one?.length).toBeGreaterThan(20);
  const gaps = one?.slice(1).map((atMs, index) => atMs - (one[index] ?? 0));
  expect(new Set(gaps).size).toBeGreaterThan(10);
  expect(one?.filter((atMs) => other?.includes(atMs)).length).toBeLessThan(5);
});
