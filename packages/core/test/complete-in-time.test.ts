import { LeaseLostError, StoreError, type OccurrenceLeadership } from "@leasehold/core";
import { completeWhileClaimed } from "@leasehold/core/occurrences";
import { VirtualClock } from "@leasehold/core/testing";
import { beforeEach, expect, test } from "vitest";

const MANY = 100;

let clock: VirtualClock;
/** The milliseconds after the start at which each try was made. */
let tries: number[];

beforeEach(() => {
  clock = new VirtualClock();
  tries = [];
});

/** Returns a leadership whose completions fail with these errors, in turn. The last error repeats. */
function completing(...failures: readonly Error[]): OccurrenceLeadership {
  const left = [...failures];
  const complete = (): Promise<void> => {
    tries.push(clock.monotonicMs() - startMs);
    // Ends the tries if there is no wait between them.
    if (tries.length === MANY) return Promise.reject(new LeaseLostError("e", 1, "taken", "enough."));
    const failure = left.length > 1 ? left.shift() : left[0];
    return failure ? Promise.reject(failure) : Promise.resolve();
  };
  const startMs = clock.monotonicMs();
  return { complete, remainingMs: () => Infinity, election: "e", term: 1 } as OccurrenceLeadership;
}

function unavailable(retryAfterMs?: number): StoreError {
  const details = { store: "memory", operation: "put", election: "e", mayHaveBeenApplied: false, retryAfterMs };
  return new StoreError("STORE_UNAVAILABLE", "It is away.", details);
}

test("a completion is tried again after a wait that doubles, up to five seconds, while the platform lets it", async () => {
  const failure = unavailable();
  // The instant after which the platform allows no try.
  const endMs = clock.monotonicMs() + 21_300;

  await expect(clock.runUntil(completeWhileClaimed(completing(failure), clock, endMs))).rejects.toMatchObject({
    code: "NOT_RECORDED",
    cause: failure,
  });
  expect(tries).toEqual([0, 100, 300, 700, 1_500, 3_100, 6_300, 11_300, 16_300]);
});

test("a completion is tried again after the wait that the service asks for", async () => {
  const failure = unavailable(4_000);
  const endMs = clock.monotonicMs() + 10_000;

  await expect(clock.runUntil(completeWhileClaimed(completing(failure), clock, endMs))).rejects.toMatchObject({
    code: "NOT_RECORDED",
    cause: failure,
  });
  expect(tries).toEqual([0, 4_000, 8_000]);
});

test("a completion is not tried again after another candidate has taken over", async () => {
  const lost = new LeaseLostError("e", 1, "taken", "another took it.");

  await expect(clock.runUntil(completeWhileClaimed(completing(unavailable(), lost), clock, Infinity))).rejects.toBe(lost);
  expect(tries).toEqual([0, 100]);
});
