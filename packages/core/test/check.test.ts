import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { timedCheck } from "../src/store/request.ts";

test("a check returns the duration of each of its requests", async () => {
  const clock = new VirtualClock();
  const read = (): Promise<void> => clock.advance(30);
  const probe = (): Promise<void> => clock.advance(50);

  await expect(timedCheck(clock, read, probe)).resolves.toEqual({ readMs: 30, writeMs: 50 });
});
