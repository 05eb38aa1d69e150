import { MemoryLeaseStore, StoreError } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { StoreHealth } from "../src/election/store-health.ts";
import { Journal } from "../src/reporting/journal.ts";
import { Lines } from "./lines.ts";

const failure = (code: "STORE_DENIED" | "STORE_UNAVAILABLE"): StoreError =>
  new StoreError(code, "no.", { store: "memory", operation: "put", election: "e", mayHaveBeenApplied: false });

test.each<[string, (health: StoreHealth) => void, number | undefined]>([
  ["goes on after another refusal", (health) => health.failed("write", failure("STORE_DENIED")), 1_000],
  ["goes on after a read that succeeds", (health) => health.answered("read"), 1_000],
  ["ends with a write that succeeds", (health) => health.answered("write"), undefined],
  ["ends with an outage", (health) => health.failed("read", failure("STORE_UNAVAILABLE")), undefined],
  ["ends with the call", (health) => health.end(), undefined],
])("the time of refusals %s", async (_, then, refusedMs) => {
  const clock = new VirtualClock();
  const health = new StoreHealth(new MemoryLeaseStore({ clock }), "e", clock);
  health.failed("read", failure("STORE_DENIED"));
  await clock.advance(1_000);
  expect(health.refusedMs).toBe(1_000);

  then(health);
  expect(health.refusedMs).toBe(refusedMs);
});

test("a recovery is reported once the store answers everybody whom it failed", () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  const lines = new Lines();
  const [one, other] = [new StoreHealth(store, "a", clock), new StoreHealth(store, "b", clock)];
  for (const health of [one, other]) health.failed("read", failure("STORE_UNAVAILABLE"));
  one.report({ journal: Journal.to(lines), leaseDurationMs: 15_000 });
  one.answered("read");
  expect(lines.of("info")).toEqual([]);

  other.answered("read");
  expect(lines.of("info")).toEqual(["The memory store answers again, after 0.0 s."]);
});

test.each([
  ["is not over when one of two users stops", "a", 1],
  ["is over without a word when its last user stops", "ab", 0],
])("an outage %s", (_, dropped, recoveries) => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  const lines = new Lines();
  const users = { a: new StoreHealth(store, "a", clock), b: new StoreHealth(store, "b", clock) };
  for (const health of Object.values(users)) health.failed("read", failure("STORE_UNAVAILABLE"));
  users.a.report({ journal: Journal.to(lines), leaseDurationMs: 15_000 });

  for (const user of dropped) users[user as "a" | "b"].end();
  users.b.answered("read");
  expect(lines.of("info")).toHaveLength(recoveries);
});

test.each([
  [59_999, 1],
  [60_000, 2],
])("an outage that begins %i ms after a reported one makes %i warnings", async (quietMs, warnings) => {
  const clock = new VirtualClock();
  const lines = new Lines();
  const health = new StoreHealth(new MemoryLeaseStore({ clock }), "e", clock);
  const fail = (): void => {
    health.failed("read", failure("STORE_UNAVAILABLE"));
    health.report({ journal: Journal.to(lines), leaseDurationMs: 15_000 });
  };
  fail();
  health.answered("read");
  await clock.advance(quietMs);

  fail();
  expect(lines.warnings).toHaveLength(warnings);
});
