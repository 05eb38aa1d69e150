import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { expect, test } from "vitest";
import { BREAKS } from "./breaks.ts";

test.concurrent.for(Object.keys(BREAKS))(
  "%s has two leaders, or two runs of a tick, where Leasehold has one",
  async (name, { skip }) => {
    const { missing, play } = BREAKS[name]!;
    if (await isMissing(missing())) skip();
    expect(await play()).toEqual({ theirs: 2, ours: 1 });
  },
);
