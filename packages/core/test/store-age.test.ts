import { fc, test } from "@fast-check/vitest";
import { instantOf, type LeaseRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, describe, expect } from "vitest";
import type { StoreClock } from "../src/store/capabilities.ts";
import { StoreAge } from "../src/records/store-age.ts";

const TOLERANCE_MS = 100;
const RENEW_INTERVAL_MS = 5_000;
const HOUR_MS = 3_600_000;
const EXACT: StoreClock = { toleranceMs: 0, exact: true };
const BOUNDED: StoreClock = { toleranceMs: TOLERANCE_MS, exact: false };
const STEPPING: StoreClock = { toleranceMs: TOLERANCE_MS, exact: false, mayStep: true };

const record = { renewIntervalMs: RENEW_INTERVAL_MS } as LeaseRecord;

let clock: VirtualClock;

beforeEach(() => {
  clock = new VirtualClock();
});

interface Answer {
  /** The age by the store's clock. */
  readonly ageMs?: number;
  /** The age by the wall clocks of the writer and the reader. */
  readonly wallAgeMs?: number;
  /** The time that the reply was under way. */
  readonly replyMs?: number;
}

/** Makes a read whose request arrives at once. */
async function read(age: StoreAge, { ageMs, wallAgeMs, replyMs = 0 }: Answer): Promise<void> {
  const sentAt = instantOf(clock);
  const nonceWallMs = wallAgeMs === undefined ? undefined : clock.wallMs() - wallAgeMs;
  await clock.advance(replyMs);
  age.note({ record, version: "v", sentAt, nonceAgeMs: ageMs === undefined ? undefined : [ageMs, ageMs], nonceWallMs });
}

describe("the age of a nonce by the store's clock", () => {
  test("counts from the reply, not from before the send", async () => {
    for (const trust of [EXACT, STEPPING]) {
      const age = new StoreAge(clock, trust);
      await read(age, { ageMs: 1_000, wallAgeMs: 1_000, replyMs: 300 });

      expect(age.boundsMs?.[0]).toBe(1_000);
      await clock.advance(500);
      expect(age.boundsMs?.[0]).toBe(1_500);
    }
  });

  test("has an upper bound that adds the time since the send", async () => {
    const age = new StoreAge(clock, EXACT);
    await read(age, { ageMs: 1_000, replyMs: 300 });

    expect(age.boundsMs?.[1]).toBe(1_300);
    clock.suspend(60_000);
    expect(age.boundsMs).toEqual([1_000, 61_300]);
  });

  test("is undefined before the first age, and on a store without a clock", async () => {
    expect(new StoreAge(clock, EXACT).boundsMs).toBeUndefined();
    const age = new StoreAge(clock, undefined);
    await read(age, { ageMs: 1_000 });
    expect(age.boundsMs).toBeUndefined();
  });

  test("is at most the age by the wall clocks if the store returns the writer's", async () => {
    const age = new StoreAge(clock, BOUNDED);
    await read(age, { ageMs: 60_000, wallAgeMs: 1_000, replyMs: 300 });
    await read(age, { ageMs: 60_300, wallAgeMs: 1_300, replyMs: 300 });

    expect(age.boundsMs?.[0]).toBe(1_600);
    await read(age, { ageMs: 60_600, wallAgeMs: HOUR_MS });
    expect(age.boundsMs?.[0]).toBe(60_600);
  });

  test("waits for a second read if the clock is neither exact nor checked by the wall clocks", async () => {
    const age = new StoreAge(clock, BOUNDED);
    await read(age, { ageMs: 1_000, wallAgeMs: 1_000 });
    expect(age.boundsMs).toBeUndefined();
    expect(age.unconfirmedMs).toBe(1_000);
    await clock.advance(500);
    await read(age, { ageMs: 1_500 });

    expect(age.boundsMs?.[0]).toBe(1_500);
    expect(age.unconfirmedMs).toBeUndefined();
  });
});

describe("a clock that may step", () => {
  test.each([
    ["both ages are the same", { ageMs: 9_000, wallAgeMs: 9_000 }, 9_000],
    ["the wall clocks tell the lesser one, within the tolerance", { ageMs: 9_000, wallAgeMs: 8_900 }, 8_900],
    ["the store tells the lesser one, since the write was slow to arrive", { ageMs: 9_000, wallAgeMs: 20_000 }, 9_000],
    ["the reader's wall clock is ahead of the writer's", { ageMs: 9_000, wallAgeMs: HOUR_MS }, 9_000],
  ])("counts after one read, up to the lesser age, if %s", async (_, answer, leastMs) => {
    const age = new StoreAge(clock, STEPPING);
    await read(age, answer);

    expect(age.boundsMs?.[0]).toBe(leastMs);
    expect(age.unconfirmedMs).toBeUndefined();
  });

  test.each([
    ["the store's age is the greater one by more than the tolerance", { ageMs: 9_000, wallAgeMs: 8_899 }],
    ["the writer's wall clock is ahead of the reader's", { ageMs: 9_000, wallAgeMs: -HOUR_MS }],
    ["the writer's wall clock is not told", { ageMs: 9_000 }],
    ["the age is negative", { ageMs: -1, wallAgeMs: 0 }],
  ])("does not count if %s", async (_, answer) => {
    const age = new StoreAge(clock, STEPPING);
    await read(age, answer);

    expect(age.boundsMs).toBeUndefined();
    // A second read would not help.
    expect(age.unconfirmedMs).toBeUndefined();
  });

  test("does not count for that nonce once it was contradicted, nor do its earlier ages", async () => {
    const age = new StoreAge(clock, STEPPING);
    await read(age, { ageMs: 9_000, wallAgeMs: 9_000 });
    expect(age.boundsMs).toBeDefined();
    await read(age, { ageMs: 25_000, wallAgeMs: 9_000 });
    expect(age.boundsMs).toBeUndefined();
    await read(age, { ageMs: 9_000, wallAgeMs: 9_000 });

    expect(age.boundsMs).toBeUndefined();
  });

  test.each([
    ["the wall clocks, where the server tells none", { wallAgeMs: 9_000 }, 9_000],
    ["the server, which the wall clocks contradict", { ageMs: 25_000, wallAgeMs: 9_000 }, 25_000],
    ["the wall clocks, which the server contradicts", { ageMs: -1, wallAgeMs: 9_000 }, 9_000],
    ["nobody, where it is of the future: it may be any", { wallAgeMs: -TOLERANCE_MS - 1 }, Infinity],
    ["the wall clocks, where it is of the future within the tolerance", { wallAgeMs: -TOLERANCE_MS }, -TOLERANCE_MS],
  ])("that does not count leaves the age unknown up to the age told by %s", async (_, answer, saidMs) => {
    const age = new StoreAge(clock, STEPPING);
    await read(age, answer);

    expect([age.isAgeUnknown(saidMs), age.isAgeUnknown(saidMs + 1)]).toEqual([true, saidMs === Infinity]);
  });

  test.each([
    [1_399, false],
    [1_400, true],
    [1_600, true],
    [1_601, false],
  ])("counts if two reads agree within the tolerance: half a second after 1,000 ms it is %d ms", async (ageMs, is) => {
    const age = new StoreAge(clock, BOUNDED);
    await read(age, { ageMs: 1_000 });
    await clock.advance(500);
    await read(age, { ageMs });

    expect(age.boundsMs !== undefined).toBe(is);
  });

  test.each([
    ["a clock that may not step", BOUNDED, true],
    ["a clock that may step, which the wall clocks show", STEPPING, false],
  ])("that no server knows is unknown for any wait, until a server knows it: %s", (_, trust, isUnknown) => {
    const age = new StoreAge(clock, trust);
    const note = (ageUnknown?: true): void => age.note({ record, version: "v", sentAt: instantOf(clock), ageUnknown });
    note(true);
    expect(age.isAgeUnknown(HOUR_MS)).toBe(isUnknown);
    note();
    expect(age.isAgeUnknown(0)).toBe(false);
  });

  test("keeps its age if a later read, of another server, returns none", async () => {
    const age = new StoreAge(clock, STEPPING);
    await read(age, { ageMs: 9_000, wallAgeMs: 9_000 });
    await clock.advance(1_000);
    age.note({ record, version: "v", sentAt: instantOf(clock) });

    expect(age.boundsMs?.[0]).toBe(10_000);
  });

  const error = fc.double({ min: -1e9, max: 1e9, noNaN: true });
  const delay = fc.double({ min: 0, max: 10_000, noNaN: true });
  test.prop([fc.constantFrom("store", "writer", "reader"), error, delay, delay, delay])(
    "never makes a nonce older than the time since it was sent, if any one clock is wrong by any amount",
    async (wrong, errorMs, requestMs, ageMs, replyMs) => {
      const here = new VirtualClock();
      const off = (which: string): number => (wrong === which ? errorMs : 0);
      const sentWallMs = here.wallMs() + off("writer");
      await here.advance(requestMs + ageMs);
      const age = new StoreAge(here, STEPPING);
      const sentAt = instantOf(here);
      await here.advance(replyMs);
      here.jumpWall(off("reader"));
      const storeAgeMs = ageMs + off("store");
      age.note({ record, version: "v", sentAt, nonceAgeMs: [storeAgeMs, storeAgeMs], nonceWallMs: sentWallMs });

      expect(age.boundsMs?.[0] ?? 0).toBeLessThanOrEqual(requestMs + ageMs + replyMs + 1e-3);
    },
  );
});
