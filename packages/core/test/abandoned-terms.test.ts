import type { LeaseRecord } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { AbandonedTerms } from "../src/records/abandoned-terms.ts";

test("a term that was abandoned is held no longer, unless that was said", async () => {
  const clock = new VirtualClock();
  const terms = new AbandonedTerms(clock);
  const found = (termId: string): LeaseRecord => ({ termId }) as LeaseRecord;
  terms.add("e", "free", "1");
  terms.add("e", "held", "1", 5_000);

  expect(["free", "held", "unknown"].map((termId) => terms.holdMs("e", found(termId)))).toEqual([0, 5_000, undefined]);
  await clock.advance(1_000);
  expect(terms.holdMs("e", found("held"))).toBe(4_000);
});
