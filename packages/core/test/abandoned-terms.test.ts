import type { LeaseRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { AbandonedTerms } from "../src/records/abandoned-terms.ts";

test("an abandoned term blocks for the hold that was given, or not at all", async () => {
  const clock = new VirtualClock();
  const terms = new AbandonedTerms(clock);
  const found = (termId: string): LeaseRecord => ({ termId }) as LeaseRecord;
  terms.add("e", "free", "1");
  terms.add("e", "held", "1", 5_000);

  expect(["free", "held", "unknown"].map((termId) => terms.holdMs("e", found(termId)))).toEqual([0, 5_000, undefined]);
  await clock.advance(1_000);
  expect(terms.holdMs("e", found("held"))).toBe(4_000);
});

test.each([false, true])("a term whose version has passed may return only where versions return: %s", async (versionsReturn) => {
  const clock = new VirtualClock();
  const terms = new AbandonedTerms(clock, versionsReturn);
  const found = (termId: string | null, version: string): void =>
    terms.settle("e", { termId } as LeaseRecord, { data: undefined, version });
  terms.add("e", "lost", "1");
  found(null, "1");
  expect(terms.holdMs("e", { termId: "lost" } as LeaseRecord)).toBe(0);

  found(null, "2");
  expect(terms.holdMs("e", { termId: "lost" } as LeaseRecord)).toBe(versionsReturn ? 0 : undefined);

  found("lost", "3");
  await clock.advance(900_000);
  found(null, "4");
  expect(terms.holdMs("e", { termId: "lost" } as LeaseRecord)).toBeUndefined();
});
