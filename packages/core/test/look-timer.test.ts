import type { LeaseStore } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { LookTimer } from "../src/election/look-timer.ts";

test("a watch that breaks is begun again after a second, after longer where that breaks too, and after a second once one has lasted", async () => {
  const clock = new VirtualClock();
  const retryPeriodMs = 10_000;
  const lastsMs = [0, 0, 0, 0, 0, retryPeriodMs];
  const originMs = clock.monotonicMs();
  const begunMs: number[] = [];
  const store = {
    async *watch(_: string, { signal }: { readonly signal: AbortSignal }) {
      begunMs.push(clock.monotonicMs() - originMs);
      yield undefined;
      await sleep(clock, lastsMs[begunMs.length - 1] ?? 0, signal);
    },
  } as unknown as LeaseStore;

  const looks = new LookTimer({ store, election: "e", clock, retryPeriodMs }, undefined);
  await clock.advance(38_000);
  looks.stop();

  expect(begunMs).toEqual([0, 1_000, 3_000, 7_000, 15_000, 25_000, 36_000, 38_000]);
  await clock.advance(retryPeriodMs);
  expect(clock.pendingTimers).toBe(0);
});
