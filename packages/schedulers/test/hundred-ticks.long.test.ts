import { VirtualClock } from "@leasehold/core/testing";
import { describe, test } from "vitest";
import { ALL } from "./adapters.ts";
import { expectEachOnce } from "./ticks.ts";

describe.each(Object.entries(ALL))("%s: of a hundred ticks each is done once,", (_, adapter) => {
  test.each([0, 300, 5_000])("on two hosts whose clocks are %d ms apart", async (apartMs) => {
    await expectEachOnce(new VirtualClock(), { adapter, count: 100, apartMs });
  });
});
