import { fc, test } from "@fast-check/vitest";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect } from "vitest";

describe("VirtualClock", () => {
  test("runs timers in the order of their time, then of their creation, each at its own instant", async () => {
    const clock = new VirtualClock();
    const startMs = clock.monotonicMs();
    const ran: Array<readonly [string, number]> = [];
    const note = (name: string) => () => void ran.push([name, clock.monotonicMs() - startMs]);
    clock.setTimer(note("third"), 20);
    clock.setTimer(note("first"), 10);
    clock.setTimer(note("second"), 10);

    await clock.advance(25);

    expect(ran).toEqual([
      ["first", 10],
      ["second", 10],
      ["third", 20],
    ]);
    expect(clock.monotonicMs() - startMs).toBe(25);
  });

  test("runs everything that a timer starts before the next timer", async () => {
    const clock = new VirtualClock();
    const ran: string[] = [];
    clock.setTimer(() => void Promise.resolve().then(() => ran.push("set off")), 10);
    clock.setTimer(() => ran.push("next"), 10);

    await clock.advance(10);

    expect(ran).toEqual(["set off", "next"]);
  });

  test("a cancelled timer does not run", async () => {
    const clock = new VirtualClock();
    let ran = false;
    clock.setTimer(() => (ran = true), 10).cancel();

    await clock.advance(20);

    expect(ran).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  // Otherwise a deadline that is almost reached when its timer runs would be set again for ever, at the same instant.
  test.prop([fc.double({ min: 0, max: 1e6, noNaN: true }), fc.double({ min: 0.001, max: 1e5, noNaN: true })], {
    seed: 20_261_120,
  })("a timer never runs before its delay has passed, not even by a rounding error", async (untilMs, delayMs) => {
    const clock = new VirtualClock();
    await clock.advance(untilMs);
    const setMs = clock.monotonicMs();
    let ranMs = Infinity;
    clock.setTimer(() => (ranMs = clock.monotonicMs()), delayMs);

    await clock.advance(2 * delayMs + 1);

    expect(ranMs - setMs).toBeGreaterThanOrEqual(delayMs);
  });

  test("a frozen process runs its timers late, when it thaws", async () => {
    const clock = new VirtualClock();
    const startMs = clock.monotonicMs();
    let ranMs = 0;
    clock.setTimer(() => (ranMs = clock.monotonicMs() - startMs), 10);

    clock.freeze(500);
    expect(ranMs).toBe(0);

    await clock.advance(0);
    expect(ranMs).toBe(500);
  });

  test("a suspension moves the wall clock alone", () => {
    const clock = new VirtualClock();
    const before = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };

    clock.suspend(500);

    expect(clock.monotonicMs()).toBe(before.monotonicMs);
    expect(clock.wallMs()).toBe(before.wallMs + 500);
  });

  test("runUntil returns the result, throws the rejection, and throws for a promise that stays pending", async () => {
    const clock = new VirtualClock();
    const inAWhile = new Promise<string>((resolve) => void clock.setTimer(() => resolve("done"), 1_000));

    await expect(clock.runUntil(inAWhile)).resolves.toBe("done");
    await expect(clock.runUntil(Promise.reject(new Error("no")))).rejects.toThrow("no");
    await expect(clock.runUntil(new Promise(() => undefined), 50)).rejects.toThrow("still pending after 50 virtual ms");
  });

  test("gives the same random numbers for the same seed, and others for another", () => {
    const numbers = (seed: number): string => new VirtualClock(seed).randomUuid();

    expect(numbers(1)).toBe(numbers(1));
    expect(numbers(1)).not.toBe(numbers(2));
  });
});

describe("a step", () => {
  test("runs one timer, at its time, and everything that it starts", async () => {
    const clock = new VirtualClock();
    const startMs = clock.monotonicMs();
    const ran: string[] = [];
    clock.setTimer(() => void Promise.resolve().then(() => ran.push("set off")), 10);
    clock.setTimer(() => ran.push("next"), 20);

    await expect(clock.step()).resolves.toBe(true);
    expect([ran, clock.monotonicMs() - startMs]).toEqual([["set off"], 10]);
  });

  test("lets no time pass if no timer falls due in time", async () => {
    const clock = new VirtualClock();
    const startMs = clock.monotonicMs();
    clock.setTimer(() => expect.fail("It ran."), 10).cancel();
    clock.setTimer(() => expect.fail("It ran."), 20);

    await expect(clock.step(startMs + 19)).resolves.toBe(false);
    expect([clock.monotonicMs(), clock.pendingTimers]).toEqual([startMs, 1]);
  });
});

test.prop([fc.array(fc.record({ delayMs: fc.nat(50), cancelled: fc.boolean() }), { maxLength: 60 })])(
  "timers run by their time, and at the same time in the order in which they were set",
  async (timers) => {
    const clock = new VirtualClock();
    const ran: number[] = [];
    for (const [index, { delayMs, cancelled }] of timers.entries()) {
      const set = index % 2 === 0 ? "setTimer" : "setIdleTimer";
      const timer = clock[set](() => ran.push(index), delayMs);
      if (cancelled) timer.cancel();
    }
    await clock.advance(50);

    const expected = [...timers.entries()].filter(([, { cancelled }]) => !cancelled);
    expected.sort(([one, a], [other, b]) => a.delayMs - b.delayMs || one - other);
    expect(ran).toEqual(expected.map(([index]) => index));
    expect(clock.pendingTimers).toBe(0);
  },
);
