import { getEventListeners } from "node:events";
import type { Lease } from "@leasehold/core/provider";
import { beforeEach, describe, expect, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, PROOFS, RENEW_DEADLINE_MS, VALID_FOR_MS, type Candidate } from "./election-world.ts";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

let world: ElectionWorld;
let a: Candidate;

beforeEach(() => {
  world = new ElectionWorld();
  a = world.candidate("a");
});

describe("campaign", () => {
  test("is a standby while it waits for its turn", async () => {
    const leader = await world.candidate("leader").elector.campaign();
    const campaigning = a.elector.campaign();
    await world.clock.advance(LEASE_MS);
    expect(a.elector.health()).toMatchObject({ state: "standby", leading: false });
    expect(a.events.all("standby")).toHaveLength(1);
    await leader.release();

    const leadership = await world.clock.runUntil(campaigning);
    expect(leadership.term).toBe(2);
    await leadership.release();
  });

  test("returns a leadership that is renewed until it is disposed of", async () => {
    {
      await using leadership = await a.elector.campaign();
      await world.clock.advance(10 * LEASE_MS);
      expect(leadership.isValid()).toBe(true);
      expect(a.elector.isLeader).toBe(true);
    }

    expect(a.elector.isLeader).toBe(false);
    expect(a.elector.health()).not.toHaveProperty("term");
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("learns from the attempt that lost a race who has won it", async () => {
    const bar = { kind: "lease" } as const;
    const current = { election: ELECTION, state: "held", term: 4, holder: "winner", bar } as const;
    a.store.acquire = () => Promise.resolve({ acquired: false, current });
    const enough = new AbortController();
    const campaigning = a.elector.campaign({ signal: enough.signal });
    const known: unknown[] = [];
    a.elector.on("newLeader", ({ leader }) => known.push(leader?.candidateId));

    while (known.length === 0) await world.clock.step(world.clock.monotonicMs() + LEASE_MS);

    expect(known).toEqual(["winner"]);
    enough.abort("enough");
    await expect(campaigning).rejects.toBe("enough");
  });

  test("releasing twice is harmless", async () => {
    const leadership = await a.elector.campaign();

    await Promise.all([leadership.release(), leadership.release(), leadership[Symbol.asyncDispose]()]);
    const other = await world.candidate("b").elector.campaign();
    await leadership.release();

    expect(other.isValid()).toBe(true);
    await other.release();
  });

  test("keeps the elector busy until it is disposed of, even if the lease is lost", async () => {
    const leadership = await a.elector.campaign();
    a.records.failAll({ kind: "unavailable" });
    await world.clock.advance(LEASE_MS);
    a.records.heal();
    await world.clock.advance(10 * LEASE_MS);
    expect(leadership.isValid()).toBe(false);

    await expect(a.elector.run(untilAborted)).rejects.toMatchObject({ code: "ELECTOR_BUSY" });

    await leadership.release();
    expect(await a.elector.tryRun(() => "ran")).toMatchObject({ elected: true });
  });

  test("links the leadership to the signal that it was given, also after it has won", async () => {
    const controller = new AbortController();
    const leadership = await a.elector.campaign({ signal: controller.signal });
    const reason = new Error("shutting down");

    controller.abort(reason);

    expect(leadership.signal.reason).toBe(reason);
    expect(leadership.isValid()).toBe(true);
    await leadership.release();
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  test.each([new Error("enough"), "enough", 7])(
    "rejects with the signal's own reason %s when it aborts while waiting",
    async (reason) => {
      const leader = await world.candidate("leader").elector.campaign();
      const controller = new AbortController();
      const campaigning = a.elector.campaign({ signal: controller.signal });
      await world.clock.advance(10_000);

      controller.abort(reason);

      expect(await campaigning.catch((error: unknown) => error)).toBe(reason);
      expect(world.service.count("a", "put")).toBe(PROOFS);
      await leader.release();
      expect(world.clock.pendingTimers).toBe(0);
    },
  );
});

describe("a win that comes too late is released before the call settles", () => {
  test("after the caller aborted: run", async () => {
    a.records.latencyMs = 1_000;
    const run = a.run();
    await sent("put");

    run.stop();
    await world.clock.runUntil(run.settled);

    expect(a.events.names("startedLeading")).toEqual([]);
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("whose reply was lost, too", async () => {
    a.records.failNext("put", { kind: "unanswered" });
    const controller = new AbortController();
    const campaigning = a.elector.campaign({ signal: controller.signal });
    await world.clock.advance(1_000);

    controller.abort("enough");
    const error = await world.clock.runUntil(campaigning).catch((thrown: unknown) => thrown);

    expect(error).toBe("enough");
    expect(world.service.record(ELECTION)).toMatchObject({ term: 1, termId: null });
  });

  test("after its own deadline had passed, because the process was frozen; the campaign goes on", async () => {
    a.records.latencyMs = 1_000;
    const campaigning = a.elector.campaign();
    await sent("put");
    await world.clock.advance(600);

    world.clock.freeze(RENEW_DEADLINE_MS);
    const leadership = await world.clock.runUntil(campaigning);

    expect(leadership.term).toBe(2);
    expect(leadership.isValid()).toBe(true);
    const puts = world.service.log
      .filter(({ operation }) => operation === "put")
      .map(({ record }) => [record!.term, record!.termId === null]);
    expect(puts).toEqual([
      [1, false],
      [1, true],
      [2, false],
    ]);
    await world.clock.runUntil(leadership.release());
  });

  test.each([
    ["comes too late for a release, too, of which none is sent", VALID_FOR_MS, 0],
    ["could not be released", RENEW_DEADLINE_MS, 2],
  ])("the store is told to forget a win that %s", async (_, frozenMs, releases) => {
    const forgotten: number[] = [];
    Object.assign(a.store, { forget: ({ term }: Lease) => forgotten.push(term) });
    a.records.latencyMs = 1_000;
    const controller = new AbortController();
    const campaigning = a.elector.campaign({ signal: controller.signal });
    await sent("put");
    await world.clock.advance(600);
    a.records.failNext("put", { kind: "unavailable" }, { kind: "unavailable" });

    world.clock.freeze(frozenMs);
    controller.abort("enough");

    await expect(world.clock.runUntil(campaigning)).rejects.toBe("enough");
    expect(forgotten).toEqual([1]);
    expect(a.events.names("releaseFailed")).toHaveLength(releases / 2);
    expect(world.service.count("a", "put")).toBe(1 + releases);
  });

  test.each([
    [true, []],
    [false, [1]],
  ])("the store is told to forget a term that was not released (released: %s)", async (releaseOnStop, terms) => {
    const b = world.candidate("b", { releaseOnStop });
    const forgotten: number[] = [];
    Object.assign(b.store, { forget: ({ term }: Lease) => forgotten.push(term) });
    const run = b.run();
    await world.clock.advance(1_000);
    run.stop();
    await run.settled;

    expect(forgotten).toEqual(terms);
  });

  test("a failed release of a late win is reported, and the call still settles", async () => {
    a.records.latencyMs = 1_000;
    const controller = new AbortController();
    const campaigning = a.elector.campaign({ signal: controller.signal });
    await sent("put");
    a.records.failNext("put", { kind: "unavailable" });
    a.records.failNext("put", { kind: "unavailable" });

    controller.abort("enough");

    await expect(world.clock.runUntil(campaigning)).rejects.toBe("enough");
    expect(a.events.all("releaseFailed")).toMatchObject([{ term: 1, error: { code: "STORE_UNAVAILABLE" } }]);
  });

  // A few turns of the microtask queue lie between the store's reply and the caller. An abort may fall between any two.
  test.each(["campaign", "tryCampaign", "tryRun"] as const)(
    "an abort at any turn between the win and the end of %s leaves no lease behind",
    async (call) => {
      for (let turns = 0; turns < 40; turns += 1) {
        const turning = new ElectionWorld();
        const candidate = turning.candidate("a");
        const controller = new AbortController();
        abortAfterWin(candidate, controller, turns);

        const calling =
          call === "tryRun" ? candidate.elector.tryRun(untilAborted, controller) : candidate.elector[call](controller);
        const outcome = await calling.catch(() => undefined);
        if (outcome && "release" in outcome) await outcome.release();
        await turning.clock.settle();

        expect(turning.service.record(ELECTION), `aborted after ${turns} turns`).toMatchObject({ termId: null });
        expect(turning.clock.pendingTimers, `aborted after ${turns} turns`).toBe(0);
      }
    },
  );
});

/** Aborts this many turns of the microtask queue after the store has returned the lease. */
function abortAfterWin({ store }: Candidate, controller: AbortController, turns: number): void {
  const acquire = store.acquire.bind(store);
  store.acquire = async (request) => {
    const outcome = await acquire(request);
    void (async () => {
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      controller.abort("enough");
    })();
    return outcome;
  };
}

/** Advances until a has sent a request of this kind. */
async function sent(operation: "get" | "put"): Promise<void> {
  while (world.service.count("a", operation) === 0) await world.clock.advance(100);
}
