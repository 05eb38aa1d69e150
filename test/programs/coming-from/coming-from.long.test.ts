import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { describe, expect, test } from "vitest";
import { BREAKS } from "./breaks.ts";

describe.concurrent("another lock that is broken has two leaders or two runs, and Leasehold one", () => {
  for (const [name, { missing, play }] of Object.entries(BREAKS)) {
    test(name, async ({ skip }) => {
      if (await isMissing(missing())) skip();
      expect(await play()).toEqual({ theirs: 2, ours: 1 });
    });
  }
});
