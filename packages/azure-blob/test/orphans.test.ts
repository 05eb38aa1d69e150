import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { Orphans, type Orphan } from "../src/orphans.ts";
import type { BlobRequests, CallLimits } from "../src/requests.ts";
import type { ObservedBlob } from "../src/observed-blob.ts";

const LIMITS = { timeoutMs: 1_000 };

describe("the leases that a process has orphaned", () => {
  let clock: VirtualClock;
  let orphans: Orphans;
  /** The leases that were released, or that a request tried to release. */
  let released: string[];
  let fails: boolean;

  beforeEach(() => {
    clock = new VirtualClock();
    released = [];
    fails = false;
    const requests: Pick<BlobRequests, "release"> = {
      async release(election: string, leaseId: string, limits: CallLimits) {
        expect([election, limits]).toEqual(["e", LIMITS]);
        released.push(leaseId);
        await Promise.resolve();
        if (fails) throw new Error("no reply");
      },
    };
    orphans = new Orphans(clock, requests as BlobRequests);
  });

  function orphan(leaseId: string, term = 6, termIds: readonly string[] = ["ours"]): Orphan {
    return { leaseId, term, termIds, untilMs: clock.monotonicMs() + 15_000 };
  }

  async function seen(
    term: number,
    { termId, leasedSinceMs }: { termId?: string; leasedSinceMs?: number } = {},
  ): Promise<boolean> {
    return await orphans.freeSeen("e", { term: { term, termId }, leasedSinceMs } as ObservedBlob, LIMITS);
  }

  it("are freed at once, and then forgotten", async () => {
    await orphans.free("e", orphan("one"), LIMITS);
    expect(await seen(6)).toBe(false);
    expect(released).toEqual(["one"]);
  });

  it("are freed once when a read shows them, if the first try has failed", async () => {
    fails = true;
    await orphans.free("e", orphan("one"), LIMITS);
    await orphans.free("e", orphan("two"), LIMITS);
    expect(await seen(6)).toBe(false);
    expect(released.splice(0)).toEqual(["one", "two", "one", "two"]);
    fails = false;
    expect(await seen(6)).toBe(true);
    expect(released.splice(0)).toEqual(["one"]);
    expect(await seen(6)).toBe(true);
    expect(await seen(6)).toBe(false);
    expect(released).toEqual(["two"]);
  });

  it("are each remembered once", async () => {
    const one = orphan("one");
    for (const known of [one, one, { ...one }]) orphans.add("e", known);
    orphans.add("e", orphan("two"));
    expect([await seen(6), await seen(6), await seen(6)]).toEqual([true, true, false]);
    expect(released).toEqual(["one", "two"]);
  });

  it.each<readonly [string, number, Parameters<typeof seen>[1], boolean]>([
    ["the term before", 6, { leasedSinceMs: 0 }, true],
    ["an older term", 5, { leasedSinceMs: 0 }, true],
    ["a term of its own", 7, { termId: "ours", leasedSinceMs: 0 }, true],
    ["a newer term that has ended", 7, { termId: "theirs" }, true],
    ["a newer term of somebody else's", 7, { termId: "theirs", leasedSinceMs: 0 }, false],
    ["a newer term without a name", 7, { leasedSinceMs: 0 }, false],
  ])("may be what is seen under %s", async (_, term, observed, canBe) => {
    orphans.add("e", orphan("one"));
    expect(await seen(term, observed)).toBe(canBe);
    expect(released).toEqual(canBe ? ["one"] : []);
  });

  it("are forgotten once they have run out, and not before", async () => {
    orphans.add("e", orphan("one"));
    await clock.advance(15_000);
    fails = true;
    expect(await seen(6)).toBe(false);
    expect(released.splice(0)).toEqual(["one"]);
    await clock.advance(1);
    fails = false;
    expect([await seen(6), await seen(6)]).toEqual([false, false]);
    expect(released).toEqual([]);
    // It is forgotten, so that a later orphan of the same name is not taken for it.
    orphans.add("e", orphan("one"));
    expect(await seen(6)).toBe(true);
  });
});
