import { systemClock, sleep } from "@leasehold/core/provider";
import type { LeaseSnapshot, LeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, it } from "vitest";
import { Contest } from "../src/contest.ts";
import { waitReally } from "../src/real-time.ts";
import { assertLed, assertStoreError, Scenario, storeClockLatenessMs } from "../src/scenario.ts";
import type { TestEnvironment } from "../src/store-under-test.ts";
import { RecordPlace } from "./record-place.ts";
import { recordSubject } from "./record-subject.ts";

const LEASE_MS = 15_000;
const STEP_MS = LEASE_MS / 20;

function sceneOf(place: TestEnvironment): Scenario {
  return new Scenario(recordSubject("some", {}), place, "some");
}

describe("a scene", () => {
  it("fails with the name of a feature that its place lacks", async () => {
    const bare: TestEnvironment = {
      connect: () => Promise.reject(new Error("not here")),
      pass: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const scene = sceneOf(bare);

    await expect(scene.connectUnreliably()).rejects.toThrow("the place has no connectUnreliably");
    await expect(scene.connectWith(systemClock)).rejects.toThrow("the place has no connectWith");
    await expect(scene.guard()).rejects.toThrow("the place has no guard");
    const interruptible = await sceneOf({ ...bare, connect: () => Promise.resolve({} as LeaseStore) }).connectInterruptibly(2);
    expect(interruptible.stores).toHaveLength(2);
    await expect(interruptible.interrupt()).rejects.toThrow("the place has neither connectUnreliably nor interrupt");
    expect(scene.clock).toBe(systemClock);
  });

  it("has a unique election, and as many rounds as its subject says", () => {
    const place = new RecordPlace();
    const [one, other] = [sceneOf(place), new Scenario({ ...recordSubject("some", {}), rounds: 7 }, place, "some")];

    expect(one.election).not.toBe(other.election);
    expect([one.rounds, other.rounds]).toEqual([1_000, 7]);
    expect([one.lapseMs, one.outageMs, one.limits.timeoutMs]).toEqual([18_000, 600_000, 5_000]);
    expect(one.clock).toBeInstanceOf(VirtualClock);
  });

  it("lets other cases run while it reads", async () => {
    const scene = sceneOf(new RecordPlace());
    const [store] = await scene.connect(1);
    let turns = 0;
    setImmediate(() => (turns += 1));
    await scene.look(store);

    expect(turns).toBe(1);
  });

  it("wins, keeps, leaves and loses leases, and fails if the outcome is another one", async () => {
    const scene = sceneOf(new RecordPlace());
    const [store, rival] = await scene.connect(2);
    const lease = await scene.win(store, "a");
    await scene.keep(store, lease);
    await expect(scene.isLost(store, lease)).rejects.toThrow("the lease of term 1 was renewed, though it is over");
    await expect(scene.win(rival, "b")).rejects.toThrow("'b' should have acquired the lease");
    await scene.lose(rival, "b");
    await scene.leave(store, lease);
    await expect(scene.leave(store, lease)).rejects.toThrow("not-held");
    await expect(scene.keep(store, lease)).rejects.toThrow("the lease of term 1 should still be held");
    expect(await scene.isLost(store, lease)).toMatchObject({ held: false });
    await expect(scene.lose(rival, "b")).rejects.toThrow("'b' acquired a lease that it must not have");
    const other = sceneOf(scene.place);
    expect([await other.leadOnce(store), await other.leadOnce(store)]).toEqual([1, 2]);
  });

  it("notices an attempt that succeeds although the read of its own store gave no reason", async () => {
    const scene = sceneOf(new RecordPlace());
    const [store, rival] = await scene.connect(2);
    const lease = await scene.win(store, "a");
    rival.acquire = () => Promise.resolve({ acquired: true, lease });

    await expect(scene.attempt(rival, "b")).rejects.toThrow("'b' acquired a lease that its own store calls 'unknown'");
  });

  it("until() waits a twentieth of a lease at a time, and not for ever", async () => {
    const scene = sceneOf(new RecordPlace());
    let looks = 0;
    await scene.until("the third look", () => (looks += 1) === 3, LEASE_MS);
    expect(scene.clock.monotonicMs()).toBeCloseTo(1_000 + 2 * STEP_MS);
    const sinceMs = scene.clock.monotonicMs();

    await expect(scene.until("nothing", () => false, 2 * STEP_MS)).rejects.toThrow(/not happened after 2250 ms: nothing/);
    expect(scene.clock.monotonicMs() - sinceMs).toBeCloseTo(3 * STEP_MS);
  });

  it("lets time pass until a promise settles, and no longer than its limit", async () => {
    const scene = sceneOf(new RecordPlace());
    const { clock } = scene;
    const later = new Promise((resolve) => void clock.setTimer(() => resolve("there"), 2_000));
    await expect(scene.settled(later)).resolves.toBe("there");
    await expect(scene.settled(Promise.reject(new Error("failed")))).rejects.toThrow("failed");

    await expect(scene.ending(new Promise(() => undefined), 1_000)).rejects.toThrow(/pending after 1500 ms/);
    await expect(scene.ending(new Promise(() => undefined), 500)).rejects.toThrow(/pending after 1000 ms/);
  });

  it("eventually() really waits for an effect that takes no time by its clocks", async () => {
    const scene = sceneOf(new RecordPlace());
    let isThere = false;
    void waitReally(30).then(() => (isThere = true));
    await scene.eventually("it is there", () => isThere);

    expect([isThere, scene.clock.monotonicMs()]).toEqual([true, new VirtualClock().monotonicMs()]);
  });

  it("notices a call that accepts a wrong argument, refuses it with another error, or sends a request first", async () => {
    const scene = sceneOf(new RecordPlace());
    const [store] = await scene.connect(1);
    const { election } = scene;
    await scene.refuses("an empty name", election, () => store.read(""));
    await expect(scene.refuses("a read", "other", () => store.read(election))).rejects.toThrow("a read was accepted");
    const failing = (): Promise<never> => Promise.reject(new Error("no"));
    await expect(scene.refuses("a text", election, failing)).rejects.toThrow("a text should be CONFIGURATION; it is Error: no");
    const late = async (): Promise<unknown> => {
      await store.read(election);
      return await store.read("");
    };
    await expect(scene.refuses("a late one", election, late)).rejects.toThrow("a late one was refused only after a request");
  });
});

describe("the checks of a store's answers", () => {
  it("an error of the service names the store and the operation", () => {
    const good = { code: "STORE_TIMEOUT", store: "s", operation: "get", mayHaveBeenApplied: false };
    const error = (fields: object): unknown =>
      Object.defineProperty({ ...good, ...fields }, Symbol.for("leasehold.error"), { value: true });
    assertStoreError(error({}));
    expect(() => assertStoreError(new Error("raw"))).toThrow("should be a StoreError; it is Error: raw");
    expect(() => assertStoreError(error({ code: "FENCED" }))).toThrow("has the code FENCED");
    expect(() => assertStoreError(error({ store: "" }))).toThrow("must name the store and the operation");
    expect(() => assertStoreError(error({ operation: "" }))).toThrow("must name the store and the operation");
    expect(() => assertStoreError(error({ mayHaveBeenApplied: undefined }))).toThrow("must say whether the request may");
  });

  it.each([
    ["held", true],
    ["ending", true],
    ["unknown", true],
    ["vacant", false],
    ["expired", false],
  ] as const)("a reader who was told '%s' was told that somebody leads: %s", (state, is) => {
    const check = (): void => assertLed({ state } as LeaseSnapshot, "a look");
    if (is) check();
    else expect(check).toThrow(`a look: the state was '${state}', though somebody leads`);
    expect(() => assertLed(undefined, "a look")).toThrow("a look: nothing was found");
  });

  it.each([
    [undefined, 0],
    [{ toleranceMs: 500, exact: true }, 1_000],
    [{ toleranceMs: 500, exact: false }, 3_000],
  ])("by a clock of %j an expiry may be found later by %d ms", (storeClock, lateMs) => {
    expect(storeClockLatenessMs({ capabilities: { storeClock } } as LeaseStore)).toBe(lateMs);
  });
});

describe("a contest", () => {
  it("notices a term that repeats", async () => {
    const scene = sceneOf(new RecordPlace());
    const [store, repeating] = await scene.connect(2);
    await using contest = new Contest(scene);
    const first = await contest.enterAndLead("a", store);
    await first.stop();
    const acquire = repeating.acquire.bind(repeating);
    repeating.acquire = async (request) => {
      const outcome = await acquire(request);
      return outcome.acquired ? { ...outcome, lease: { ...outcome.lease, term: 1 } } : outcome;
    };

    await expect(contest.enterAndLead("b", repeating)).rejects.toThrow("term 1 of 'b' follows term 1");
  });

  it("notices two candidates that are valid at once", async () => {
    const scene = sceneOf(new RecordPlace());
    await using contest = new Contest(scene);
    const [store] = await scene.connect(1);
    const elsewhere = await new RecordPlace().connectWith(scene.clock);
    await contest.enterAndLead("a", store);

    await expect(contest.enterAndLead("b", elsewhere)).rejects.toThrow("these are valid at once: a, b");
  });

  it("asks all candidates twenty times in each lease", async () => {
    const place = new RecordPlace();
    const passed: number[] = [];
    const pass = place.pass.bind(place);
    place.pass = async (ms) => {
      passed.push(ms);
      await pass(ms);
    };
    await using contest = new Contest(sceneOf(place));
    await contest.pass(LEASE_MS + 100);

    expect(passed).toEqual([...Array.from({ length: 20 }, () => STEP_MS), 100]);
  });

  it("ends when its campaigns have ended, whose last requests may take some time", async () => {
    const scene = sceneOf(new RecordPlace());
    const [store] = await scene.connect(1);
    const release = store.release.bind(store);
    store.release = async (...args) => {
      await sleep(scene.clock, 3_000);
      return await release(...args);
    };
    const contest = new Contest(scene);
    const { releases } = await contest.enterAndLead("a", store);
    await contest[Symbol.asyncDispose]();

    expect(releases).toEqual([true]);
  });

  it("knows the leader, and checks that it leads in one term", async () => {
    const scene = sceneOf(new RecordPlace());
    await using contest = new Contest(scene);
    const [one, other] = await scene.connect(2);
    expect(contest.leader).toBeUndefined();
    const leader = await contest.enterAndLead("a", one);
    const standby = await contest.enter("b", other);
    await contest.leadsOn(leader, 2 * LEASE_MS);
    expect([contest.leader, contest.terms]).toEqual([leader, [1]]);
    await expect(contest.leadsOn(standby, LEASE_MS)).rejects.toThrow("'b' has never led");
    const stopped = leader.stop();
    await expect(contest.leadsOn(leader, LEASE_MS)).rejects.toThrow("who leads");
    await stopped;
  });
});
