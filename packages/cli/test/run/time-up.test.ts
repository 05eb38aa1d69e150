import type { Elector } from "@leasehold/core";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { TimeUp } from "../../src/run/time-up.ts";

const WAIT_MS = 5_000;

let health: { lastContactAgeMs?: number; lastError?: unknown };
let listeners: Set<(event: { readonly error: unknown }) => void>;

/** An elector with only the parts that `TimeUp` uses. */
function elector(): Elector {
  const on = (_: string, listener: (event: { readonly error: unknown }) => void): (() => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return { on, health: () => health } as unknown as Elector;
}

function fail(error: unknown): void {
  for (const listener of listeners) listener({ error });
}

beforeEach(() => {
  health = { lastContactAgeMs: 0 };
  listeners = new Set();
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
});

test("a wait ends in time, and the store's failure is its reason only if the store still fails", () => {
  const failing = new TimeUp(elector(), WAIT_MS);
  const answered = new TimeUp(elector(), WAIT_MS);
  fail(new Error("away"));
  vi.advanceTimersByTime(WAIT_MS - 1);
  expect(failing.signal.aborted).toBe(false);
  health = { lastContactAgeMs: 100, lastError: { code: "STORE_UNAVAILABLE" } };
  answered.cancel();
  vi.advanceTimersByTime(1);

  expect(failing.signal.aborted).toBe(true);
  expect(() => failing.end()).toThrow("away");
  expect(answered.signal.aborted).toBe(false);
});

test("a store that has answered since its failure is not the reason", () => {
  const timeUp = new TimeUp(elector(), WAIT_MS);
  fail(new Error("away"));
  vi.advanceTimersByTime(WAIT_MS);

  expect(timeUp.end()).toBeUndefined();
});

test("a store that has never answered is the reason, with or without a last failure", () => {
  health = {};
  const [silent, refused, odd] = [0, 1, 2].map(() => new TimeUp(elector(), WAIT_MS));
  const [, second, third] = listeners;
  second?.({ error: new RangeError("refused") });
  third?.({ error: "odd" });
  vi.advanceTimersByTime(WAIT_MS);

  expect(() => silent?.end()).toThrow("has not answered in time");
  expect(() => refused?.end()).toThrow(RangeError);
  expect(() => odd?.end()).toThrow("odd");
});

test("a wait without a limit never ends, and records no failure once it is cancelled", () => {
  const endless = new TimeUp(elector(), undefined);
  expect(vi.getTimerCount()).toBe(0);
  endless.cancel();
  expect(listeners.size).toBe(0);

  const timed = new TimeUp(elector(), WAIT_MS);
  timed.cancel();
  expect(vi.getTimerCount()).toBe(0);
  expect(timed.end()).toBeUndefined();
});
