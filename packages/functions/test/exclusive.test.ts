import { getEventListeners } from "node:events";
import {
  ConfigurationError,
  MemoryLeaseStore,
  StoreError,
  UnsupportedError,
  type LeaseSnapshot,
  type LeaseStore,
  type StoreErrorCode,
} from "@leasehold/core";
import { MemoryRecordStore, RecordLeaseStore, sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader, type FunctionLeadership, type NotElected } from "@leasehold/functions";
import { beforeEach, describe, expect, test } from "vitest";

const ELECTION = "nightly-billing";
/** The time that the platform gives an invocation. */
const TIMEOUT_MS = 60_000;

let clock: VirtualClock;
let records: MemoryRecordStore;

beforeEach(() => {
  clock = new VirtualClock();
  records = new MemoryRecordStore(clock);
});

/** The store as a newly started instance opens it. */
function cold(): LeaseStore {
  return new RecordLeaseStore(records, { clock });
}

/** A store whose leases are as short as a blob's. */
function withShortLeases(): LeaseStore {
  const store = cold();
  return Object.assign(store, { capabilities: { ...store.capabilities, minLeaseMs: 15_000, maxLeaseMs: 60_000 } });
}

/** The options of a newly started instance. */
function base() {
  return { store: cold(), election: ELECTION, remainingMs: TIMEOUT_MS, clock };
}

async function record(): Promise<unknown> {
  return (await records.get(ELECTION))?.data;
}

describe("exclusive", () => {
  test("runs the handler with its own arguments and the leadership, returns its result, and releases before that", async () => {
    const wrapped = onlyAsLeader(base(), (event: string, leadership: FunctionLeadership) => ({
      event,
      term: leadership.term,
      valid: leadership.isValid(),
    }));

    await expect(wrapped("tick")).resolves.toEqual({ event: "tick", term: 1, valid: true });
    expect(await record()).toMatchObject({ term: 1, termId: null });
    expect(clock.pendingTimers).toBe(0);
  });

  test("uses the clock of its store if no clock is given", async () => {
    const store = cold();
    const wrapped = onlyAsLeader({ store, election: ELECTION, remainingMs: TIMEOUT_MS }, async ({ signal }) => {
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await clock.runUntil(aborted);
      return clock.monotonicMs();
    });
    const beganMs = clock.monotonicMs();

    await expect(wrapped()).resolves.toBe(beganMs + TIMEOUT_MS - 5_000);
  });

  test("logs what happens to the lease", async () => {
    const said: string[] = [];
    const say = (message: string): void => void said.push(message);
    const logger = { debug: say, info: say, warn: say, error: say };
    const wrapped = onlyAsLeader({ ...base(), logger }, () => "done");

    await wrapped();

    expect(said).toContain("Leading 'nightly-billing', term 1.");
    expect(said.slice(-2)).toEqual([
      "Stopped leading 'nightly-billing', term 1; the lease is free.",
      "Ran 'nightly-billing', term 1.",
    ]);
  });

  test("skips where another invocation runs, and returns its leader", async () => {
    const working = Promise.withResolvers<void>();
    const first = onlyAsLeader({ ...base(), candidateId: () => "first", value: "http://a" }, () => working.promise)();
    await clock.settle();

    const second = onlyAsLeader(base(), () => "ran");

    await expect(second()).resolves.toEqual({
      elected: false,
      reason: "claimed",
      leader: { candidateId: "first", term: 1, state: "held", value: "http://a" },
    });
    working.resolve();
    await first;
    await expect(second()).resolves.toBe("ran");
  });

  test("returns the result of onStandby, which gets the leader and the handler's arguments", async () => {
    const working = Promise.withResolvers<void>();
    const first = onlyAsLeader(base(), () => working.promise)();
    await clock.settle();
    const second = onlyAsLeader(
      { ...base(), onStandby: ({ leader }: NotElected, event: string) => `${event} is for term ${leader?.term}` },
      (_event: string) => "ran",
    );

    await expect(second("tick")).resolves.toBe("tick is for term 1");
    working.resolve();
    await first;
  });

  test("releases when the handler throws, and the error reaches the platform", async () => {
    const failing = onlyAsLeader(base(), () => {
      throw new Error("disk full");
    });

    await expect(failing()).rejects.toThrow("disk full");
    expect(await record()).toMatchObject({ term: 1, termId: null });
  });

  test("sends nothing while the handler works, and the leadership lasts for the whole invocation", async () => {
    const store = new MemoryLeaseStore({ clock });
    let version: string | undefined;
    const wrapped = onlyAsLeader({ ...base(), store }, async (leadership) => {
      const before = await store.read(ELECTION);
      await clock.advance(TIMEOUT_MS - 5_001);
      expect(leadership.signal.aborted).toBe(false);
      expect(leadership.remainingMs()).toBeGreaterThan(5_000);
      version = (await store.read(ELECTION))?.ageMs?.[0] === (before?.ageMs?.[0] ?? 0) + TIMEOUT_MS - 5_001 ? "same" : "renewed";
    });

    await wrapped();
    expect(version).toBe("same");
  });

  test("aborts the signal shutdownMarginMs before the platform ends the invocation, while the leadership is still valid", async () => {
    const wrapped = onlyAsLeader({ ...base(), shutdownMarginMs: 2_000 }, async (leadership) => {
      await clock.advance(TIMEOUT_MS - 2_001);
      expect(leadership.signal.aborted).toBe(false);
      await clock.advance(1);
      expect(leadership.signal.reason).toMatchObject({ code: "LEADERSHIP_ENDED", reason: "out-of-time", term: 1 });
      expect(leadership.isValid()).toBe(true);
      return "in time";
    });

    await expect(wrapped()).resolves.toBe("in time");
    expect(await record()).toMatchObject({ termId: null });
  });

  test("throws the error of work that was cut short, even if it is the signal's own reason", async () => {
    const wrapped = onlyAsLeader(base(), async ({ signal }) => {
      await clock.advance(TIMEOUT_MS - 4_000);
      signal.throwIfAborted();
    });

    await expect(wrapped()).rejects.toMatchObject({ code: "LEADERSHIP_ENDED", reason: "out-of-time" });
  });

  test("aborts with the caller's own signal", async () => {
    const stopping = new AbortController();
    const wrapped = onlyAsLeader({ ...base(), signal: stopping.signal }, ({ signal }) => {
      stopping.abort("SIGTERM");
      return signal.reason as string;
    });

    await expect(wrapped()).resolves.toBe("SIGTERM");
    await expect(wrapped()).rejects.toBe("SIGTERM");
  });

  test("leaves no valid leadership behind in a warm instance, even after a freeze", async () => {
    let kept: FunctionLeadership | undefined;
    const wrapped = onlyAsLeader(base(), (leadership) => {
      kept = leadership;
    });
    await wrapped();

    expect(kept!.isValid()).toBe(false);
    expect(kept!.signal.aborted).toBe(true);
    expect(() => kept!.assertValid()).toThrow(/has ended/);
    await expect(kept!.checkpoint()).rejects.toThrow(/has ended/);
  });

  test("reports an invalid leadership after a freeze during its work", async () => {
    const wrapped = onlyAsLeader(base(), (leadership) => {
      // Only the wall clock advances while an instance is frozen.
      clock.jumpWall(3_600_000);
      return leadership.isValid();
    });

    await expect(wrapped()).resolves.toBe(false);
  });
});

describe("an election whose lease is held and whose leader is unknown", () => {
  /** A lease that was taken, and whose term is not written yet. If its candidate died, the term is never written. */
  const taken: LeaseSnapshot = { election: ELECTION, state: "unknown", term: 0, bar: { kind: "lease" } };

  function gated(store: LeaseStore): () => Promise<unknown> {
    return onlyAsLeader({ ...base(), store, logger: false }, ({ term }) => term);
  }

  test("is waited for, and led once it is free, because no other platform would retry for a candidate that died", async () => {
    const store = cold();
    const freeMs = clock.monotonicMs() + 40_000;
    const read = store.read.bind(store);
    store.read = async (...args) => (clock.monotonicMs() < freeMs ? taken : await read(...args));

    await expect(clock.runUntil(gated(store)())).resolves.toBe(1);
    expect(clock.monotonicMs() - freeMs).toBeLessThan(2_500);
  });

  test("fails with an error if it lasts for the whole invocation, so that the platform delivers again", async () => {
    const store = cold();
    store.read = async () => await Promise.resolve(taken);

    await expect(clock.runUntil(gated(store)())).rejects.toMatchObject({ code: "LEADERSHIP_ENDED", reason: "out-of-time" });
  });

  test("is tried again after an attempt that no candidate won", async () => {
    const store = cold();
    const acquire = store.acquire.bind(store);
    let attempts = 0;
    store.acquire = async (request) => (++attempts === 1 ? { acquired: false } : await acquire(request));

    await expect(clock.runUntil(gated(store)())).resolves.toBe(1);
  });
});

describe("minimumHoldMs", () => {
  test("makes a late second delivery skip although the first was quick", async () => {
    const options = { election: ELECTION, remainingMs: TIMEOUT_MS, minimumHoldMs: 30_000, clock };
    await onlyAsLeader({ ...options, store: cold() }, () => "first")();
    await clock.advance(29_999);
    const twin = onlyAsLeader({ ...options, store: cold() }, () => "twin");

    await expect(twin()).resolves.toEqual({ elected: false, reason: "held-back" });
    await clock.advance(1);
    await expect(twin()).resolves.toBe("twin");
  });

  test("does not apply if the handler fails or is cut short, so that the platform's next delivery runs", async () => {
    const options = { election: ELECTION, remainingMs: TIMEOUT_MS, minimumHoldMs: 60_000, clock };
    await expect(onlyAsLeader({ ...options, store: cold() }, () => Promise.reject(new Error("disk full")))()).rejects.toThrow(
      "full",
    );
    const cut = onlyAsLeader({ ...options, store: cold() }, async ({ signal }) => {
      await clock.advance(TIMEOUT_MS - 4_000);
      signal.throwIfAborted();
    });
    await expect(cut()).rejects.toMatchObject({ reason: "out-of-time" });

    await expect(onlyAsLeader({ ...options, store: cold() }, ({ term }) => term)()).resolves.toBe(3);
  });

  test("makes the lease at least as long if it is longer than the invocation", async () => {
    await onlyAsLeader({ ...base(), remainingMs: 1_000, minimumHoldMs: 50_000 }, () => "quick")();

    expect(await record()).toMatchObject({ bars: [{ untilMs: 50_000 }] });
  });
});

describe("a release that is not answered", () => {
  test("ends before the platform ends the invocation, and the invocation succeeds", async () => {
    const store = cold();
    store.release = (_lease, { timeoutMs }) =>
      new Promise((_, reject) => {
        const details = { store: "memory", operation: "put", mayHaveBeenApplied: true };
        clock.setTimer(() => reject(new StoreError("STORE_TIMEOUT", "no answer", details)), timeoutMs);
      });
    const sinceMs = clock.monotonicMs();
    const wrapped = onlyAsLeader({ ...base(), store }, async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return "in time";
    });

    await expect(clock.runUntil(wrapped())).resolves.toBe("in time");
    expect(clock.monotonicMs() - sinceMs).toBeLessThan(TIMEOUT_MS);
  });
});

describe("renewal", () => {
  test("by checkpoint() continues after the signal has aborted, because the lease covers the time to stop", async () => {
    const wrapped = onlyAsLeader(
      { ...base(), remainingMs: 20_000, shutdownMarginMs: 12_000, leaseDurationMs: 6_000, renewal: "checkpoint" },
      async (leadership) => {
        for (let second = 0; second < 16; second += 1) {
          await clock.advance(1_000);
          await leadership.checkpoint().catch(() => undefined);
        }
        return [leadership.signal.aborted, leadership.isValid()];
      },
    );

    await expect(wrapped()).resolves.toEqual([true, true]);
  });

  test("by checkpoint() throws in time when the invocation's time is over", async () => {
    const wrapped = onlyAsLeader({ ...base(), renewal: "background" }, async (leadership) => {
      await leadership.checkpoint();
      await clock.advance(TIMEOUT_MS - 5_000);
      await expect(leadership.checkpoint()).rejects.toBe(leadership.signal.reason);
      return "stopped";
    });

    await expect(wrapped()).resolves.toBe("stopped");
  });

  test("by checkpoint() keeps a lease that is shorter than the work", async () => {
    const wrapped = onlyAsLeader(
      { ...base(), remainingMs: 10 * TIMEOUT_MS, leaseDurationMs: 15_000, renewal: "checkpoint" },
      async (leadership) => {
        for (let piece = 0; piece < 50; piece += 1) {
          await clock.advance(10_000);
          await leadership.checkpoint();
        }
        return leadership.isValid();
      },
    );

    await expect(wrapped()).resolves.toBe(true);
  });

  test("that is missing aborts the signal, with an error that says what to do", async () => {
    const wrapped = onlyAsLeader(
      { ...base(), remainingMs: 10 * TIMEOUT_MS, leaseDurationMs: 15_000, renewal: "checkpoint" },
      async (leadership) => {
        await clock.advance(13_499);
        expect(leadership.isValid()).toBe(true);
        return String(leadership.signal.reason);
      },
    );

    await expect(wrapped()).resolves.toMatch(/its task is to renew it more often/);
  });

  test.each([
    ["that the store's longest lease does not cover", withShortLeases, {}],
    ["that the given lease does not cover", cold, { leaseDurationMs: 15_000 }],
  ])("of work %s is in the background by default: another invocation skips until its end", async (_, openStore, lease) => {
    const options = { election: ELECTION, remainingMs: 5 * TIMEOUT_MS, clock, ...lease };
    let most = 0;
    let atWork = 0;
    const work = async ({ isValid }: FunctionLeadership): Promise<boolean> => {
      atWork += 1;
      most = Math.max(most, atWork);
      await sleep(clock, 4 * TIMEOUT_MS);
      atWork -= 1;
      return isValid();
    };
    const first = onlyAsLeader({ ...options, store: openStore() }, work)();
    const others: unknown[] = [];
    for (let minute = 0; minute < 3; minute += 1) {
      await clock.advance(TIMEOUT_MS + 3_000);
      const other = onlyAsLeader({ ...options, store: openStore() }, work)();
      other.then((outcome) => others.push(outcome), others.push);
    }

    await expect(clock.runUntil(first)).resolves.toBe(true);
    expect(most).toBe(1);
    expect(others).toMatchObject(Array.from({ length: 3 }, () => ({ elected: false, reason: "claimed" })));
  });

  test("runs in the background on request, and only while the handler works", async () => {
    const wrapped = onlyAsLeader({ ...base(), remainingMs: 10 * TIMEOUT_MS, renewal: "background" }, async (leadership) => {
      await clock.advance(9 * TIMEOUT_MS);
      return leadership.isValid();
    });

    await expect(wrapped()).resolves.toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("the fence", () => {
  test("calls the store's own fence for this leadership", async () => {
    const store = Object.assign(cold(), {
      fence(this: LeaseStore, leadership: FunctionLeadership, table: string) {
        return `${this.name}: term ${leadership.term} of ${table}`;
      },
    });
    const wrapped = onlyAsLeader({ ...base(), store }, ({ fence }) => fence("bills"));

    await expect(wrapped()).resolves.toBe(`${store.name}: term 1 of bills`);
  });

  test("throws for a store without a fence", async () => {
    const wrapped = onlyAsLeader(base(), (leadership) => (leadership.fence as unknown as () => void)());

    await expect(wrapped()).rejects.toMatchObject({ code: "UNSUPPORTED", election: ELECTION });
    await expect(wrapped()).rejects.toThrow("has no fence for elections.");
  });
});

describe("a store that cannot be reached", () => {
  /** Fails the first requests. */
  function failing(times: number, code: StoreErrorCode = "STORE_UNAVAILABLE"): LeaseStore {
    let left = times;
    const store = cold();
    const read = store.read.bind(store);
    store.read = async (election, options) => {
      left -= 1;
      if (left < 0) return await read(election, options);
      throw new StoreError(code, "no answer", { store: "memory", operation: "get", election, mayHaveBeenApplied: false });
    };
    return store;
  }
  /** Answers no read. */
  function silent(): LeaseStore {
    const store = cold();
    store.read = (_election, { signal } = {}) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
    return store;
  }

  test("is asked once more, because one lost reply is no outage", async () => {
    const wrapped = onlyAsLeader({ ...base(), store: failing(1) }, () => "ran");

    await expect(clock.runUntil(wrapped())).resolves.toBe("ran");
  });

  test("fails closed: the platform gets the error, and the handler does not run", async () => {
    const wrapped = onlyAsLeader({ ...base(), store: failing(2) }, () => "ran");

    await expect(clock.runUntil(wrapped())).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(clock.pendingTimers).toBe(0);
  });

  test("and never answers is an outage, not the end of the invocation's time", async () => {
    const store = cold();
    store.read = (_election, { timeoutMs = 0 } = {}) =>
      new Promise((_, reject) => {
        const details = { store: "memory", operation: "get", mayHaveBeenApplied: false };
        clock.setTimer(() => reject(new StoreError("STORE_TIMEOUT", "no answer", details)), timeoutMs);
      });
    const short = { ...base(), remainingMs: 3_000, store };

    await expect(clock.runUntil(onlyAsLeader(short, () => "ran")())).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await expect(clock.runUntil(onlyAsLeader({ ...short, onUnavailable: "skip" }, () => "ran")())).resolves.toEqual({
      elected: false,
      reason: "unavailable",
    });
  });

  test.for<[askedMs: number | undefined, waitMs: number]>([
    [undefined, 100],
    [50, 100],
    [500, 500],
    [60_000, 1_000],
  ])("which asks for a wait of %s ms is asked again after %i ms", async ([retryAfterMs, waitMs]) => {
    const askedMs: number[] = [];
    const store = cold();
    store.read = (_election, { signal } = {}) => {
      signal?.throwIfAborted();
      askedMs.push(clock.monotonicMs());
      const details = { store: "memory", operation: "get" as const, mayHaveBeenApplied: false, retryAfterMs };
      return Promise.reject(new StoreError("STORE_THROTTLED", "not now", details));
    };
    const wrapped = onlyAsLeader({ ...base(), store }, () => "ran");

    await expect(clock.runUntil(wrapped())).rejects.toMatchObject({ code: "STORE_THROTTLED" });
    expect(askedMs.map((ms) => ms - askedMs[0]!)).toEqual([0, waitMs]);
  });

  test("once and then never answers fails with its first error", async () => {
    const store = silent();
    const [away, unanswered] = [failing(1), store.read.bind(store)];
    let asked = 0;
    store.read = (...args) => (asked++ === 0 ? away.read(...args) : unanswered(...args));
    const wrapped = onlyAsLeader({ ...base(), store }, () => "ran");

    await expect(clock.runUntil(wrapped())).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  test("leaves no listener on the caller's signal", async () => {
    const { signal } = new AbortController();
    await onlyAsLeader({ ...base(), store: cold(), signal }, () => "ran")();

    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("until the invocation's time is over is an outage too", async () => {
    const wrapped = onlyAsLeader({ ...base(), store: silent() }, () => "ran");

    await expect(clock.runUntil(wrapped())).rejects.toMatchObject({
      code: "STORE_TIMEOUT",
      operation: "get",
      mayHaveBeenApplied: false,
      message: expect.stringContaining("did not answer in the time of this invocation"),
    });
  });

  test("is no outage if the caller aborts meanwhile", async () => {
    const caller = new AbortController();
    const wrapped = onlyAsLeader({ ...base(), store: silent(), signal: caller.signal }, () => "ran");
    const outcome = wrapped();
    await clock.settle();
    caller.abort(new Error("scaled in"));

    await expect(outcome).rejects.toThrow("scaled in");
  });

  test("counts as not leading with onUnavailable 'skip', with the result of onStandby", async () => {
    const skipping = onlyAsLeader({ ...base(), store: failing(2), onUnavailable: "skip" }, () => "ran");
    await expect(clock.runUntil(skipping())).resolves.toEqual({ elected: false, reason: "unavailable" });

    const saying = onlyAsLeader(
      {
        ...base(),
        store: failing(2),
        onUnavailable: "skip",
        onStandby: ({ leader }) => `led by ${leader?.candidateId ?? "nobody"}`,
      },
      () => "ran",
    );
    await expect(clock.runUntil(saying())).resolves.toBe("led by nobody");
  });

  test("because of a missing permission throws even with 'skip', because that is no outage", async () => {
    const wrapped = onlyAsLeader({ ...base(), store: failing(9, "STORE_DENIED"), onUnavailable: "skip" }, () => "ran");

    await expect(clock.runUntil(wrapped())).rejects.toMatchObject({ code: "STORE_DENIED" });
  });

  test("by the handler itself fails with the handler's error, and the handler does not run twice", async () => {
    let runs = 0;
    const other = failing(1);
    const wrapped = onlyAsLeader({ ...base(), store: cold(), onUnavailable: "skip" }, async () => {
      runs += 1;
      await other.read("something else");
    });

    await expect(clock.runUntil(wrapped())).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(runs).toBe(1);
  });
});

describe("options that cannot work", () => {
  const store = new MemoryLeaseStore();
  const good = { store, election: ELECTION, remainingMs: TIMEOUT_MS };

  test.each([
    ["no options", undefined],
    ["no store", { ...good, store: undefined }],
    ["no election", { ...good, election: "" }],
    ["an unknown gate", { ...good, gate: "once" }],
    ["an unknown onUnavailable", { ...good, onUnavailable: "ignore" }],
    ["an unknown renewal", { ...good, renewal: "sometimes" }],
    ["a negative margin", { ...good, shutdownMarginMs: -1 }],
    ["a lease of no time", { ...good, leaseDurationMs: 0 }],
    ["an onStandby that is no function", { ...good, onStandby: "skip" }],
    ["an onClaimed that is neither", { ...good, onClaimed: "wait" }],
    ["a delivery that is no function", { ...good, delivery: "request-1" }],
    ["a group without its gate", { ...good, group: "west", periodMs: 60_000 }],
    ["an occurrence without its gate", { ...good, occurrence: () => ({ name: "n", scheduledMs: 0 }) }],
    ["a negative hold", { ...good, minimumHoldMs: -1 }],
    ["a hold that is text", { ...good, minimumHoldMs: "30s" }],
    ["a hold longer than the lease", { ...good, leaseDurationMs: 15_000, minimumHoldMs: 15_001 }],
    ["a value that the store cannot hold", { ...good, value: "x".repeat(70_000) }],
    ["a signal that is none", { ...good, signal: "SIGTERM" }],
    ["a logger that is none", { ...good, logger: {} }],
    ["an option of another platform", { ...good, functionTimeoutMs: 60_000 }],
  ])("%s is refused when the function is loaded", (_, options) => {
    expect(() => onlyAsLeader(options as typeof good, () => "ran")).toThrow(ConfigurationError);
  });

  test.each([
    ["leaseDurationMs", 0],
    ["leaseDurationMs", "15s"],
    ["minimumHoldMs", "30s"],
    ["minimumHoldMs", -1],
    ["shutdownMarginMs", -1],
  ])("%s is refused by its name where it is %j", (name, value) => {
    expect(() => onlyAsLeader({ ...good, [name]: value }, () => "ran")).toThrow(new RegExp(`^${name} (is|must be) `));
  });

  test("an unknown option is refused with the name of a similar option", () => {
    const mistyped = { ...good, onUnavailabel: "skip" };

    expect(() => onlyAsLeader(mistyped, () => "ran")).toThrow(
      "onlyAsLeader has no option 'onUnavailabel'. Was 'onUnavailable' meant?",
    );
  });

  test("options that some invocation could work with are accepted when the function is loaded", () => {
    const occurrences = (): LeaseStore => expect.fail("it keeps no occurrences");
    const elections = Object.assign(new MemoryLeaseStore(), { occurrences });

    expect(() =>
      onlyAsLeader({ ...good, store: elections, minimumHoldMs: 0, shutdownMarginMs: 60_000 }, () => "ran"),
    ).not.toThrow();
  });

  test("a store without a clock is refused, because nobody could take over from an invocation that died", () => {
    const capabilities = { maxValueBytes: 1_024, fence: "none" as const, storeClock: undefined };
    const blind = new RecordLeaseStore(Object.assign(new MemoryRecordStore(), { capabilities }));

    expect(() => onlyAsLeader({ ...good, store: blind }, () => "ran")).toThrow(UnsupportedError);
  });

  test("a handler that is no function is refused", () => {
    expect(() => onlyAsLeader(good, undefined as unknown as () => string)).toThrow("needs a handler");
  });

  test.each([Number.NaN, Infinity, -1, "60s", undefined])(
    "a time of %s for an invocation is refused by its name",
    async (given) => {
      const remainingMs = (): number => given as number;
      await expect(onlyAsLeader({ ...good, remainingMs }, () => "ran")()).rejects.toThrow(/^remainingMs (is|must be) /);
    },
  );

  test("an invocation without time to work fails with an error that says so, before any request", async () => {
    const wrapped = onlyAsLeader({ ...good, remainingMs: 500, shutdownMarginMs: 1_000 }, () => "ran");

    await expect(wrapped()).rejects.toThrow(/ends this invocation in 500 ms, and shutdownMarginMs is 1000/);
    await expect(store.read(ELECTION)).resolves.toBeUndefined();
  });
});
