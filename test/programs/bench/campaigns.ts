import { getEventListeners } from "node:events";
import { Elector, MemoryLeaseStore } from "@leasehold/core";
import { MemoryRecordStore } from "@leasehold/core/provider";
import type { LeaseRecord } from "@leasehold/core/provider";
import { heapAfterGc } from "./heap.ts";
import type { Section } from "./section.ts";
import { blockRatios, summarize } from "./statistics.ts";

const CAMPAIGNS = 10_000;
/** The number of campaigns after which the heap is measured. */
const LAP = 2_000;
const BLOCK = 500;

export const campaigns: Section = {
  name: "campaigns",
  about: `${CAMPAIGNS.toLocaleString("en-US")} campaigns in a row on the memory store: what each leaves behind, and its time`,
  meaning:
    "A campaign that leaked a listener, a timer's closure or a promise would keep hundreds of bytes each time; a few bytes " +
    "are the heap's own noise. The ratio is what an election costs over the two writes that it cannot do without.",
  takesS: 5,
  async measure() {
    const { signal } = new AbortController();
    const elector = new Elector({ store: new MemoryLeaseStore(), election: "bench", cooldownMs: 0 });
    const pair = bareWrites();
    const campaign = async (): Promise<void> => {
      const leadership = await elector.campaign({ signal });
      await leadership.release();
    };
    // Warms up, until the compiled code has its final size.
    await repeat(LAP, campaign, pair);
    const heap = [await heapAfterGc()];
    const ours: number[] = [];
    const base: number[] = [];
    for (let lap = 0; lap < CAMPAIGNS / LAP; lap += 1) {
      const times = await repeat(LAP, campaign, pair);
      ours.push(...times.ours);
      base.push(...times.base);
      heap.push(await heapAfterGc());
    }
    const growth = heap.slice(1).map((bytes, lap) => (bytes - heap[lap]!) / LAP);
    return [
      { measure: "heap growth", unit: "B per campaign", goal: 64, ...summarize(growth) },
      {
        measure: "listeners left on the caller's signal",
        unit: "listeners",
        goal: 0,
        ...summarize([getEventListeners(signal, "abort").length]),
      },
      { measure: "campaign and release", unit: "x the two bare puts", ...summarize(blockRatios(ours, base, 1)) },
    ];
  },
};

/** Runs both in turns, a block of each at a time. Returns the time of each block. */
async function repeat(
  times: number,
  campaign: () => Promise<void>,
  pair: () => Promise<void>,
): Promise<{ ours: number[]; base: number[] }> {
  const time = async (run: () => Promise<void>): Promise<number> => {
    const startMs = performance.now();
    for (let turn = 0; turn < BLOCK; turn += 1) await run();
    return performance.now() - startMs;
  };
  const ours: number[] = [];
  const base: number[] = [];
  for (let block = 0; block < times / BLOCK; block += 1) {
    ours.push(await time(campaign));
    base.push(await time(pair));
  }
  return { ours, base };
}

/** Returns a function that only sends the writes of an acquisition and a release. */
function bareWrites(): () => Promise<void> {
  const records = new MemoryRecordStore();
  const { signal } = new AbortController();
  let version: string | undefined;
  let term = 0;
  return async () => {
    term += 1;
    for (const termId of ["held", null]) {
      const record: LeaseRecord = {
        schema: 3,
        term,
        termId,
        candidateId: "bench",
        nonce: `${term}-${termId}`,
        leaseDurationMs: 15_000,
        renewIntervalMs: 5_000,
      };
      const outcome = await records.put("bench", record, { ifVersion: version, keepsNonce: false, signal });
      if (!outcome.stored) throw new Error("Nobody else writes, and yet a write was refused.");
      ({ version } = outcome);
    }
  };
}
