import { conformance, type CaseResult } from "@leasehold/conformance";
import { RecordLeaseStore, type Clock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { MyRecordStore, startMyService } from "./snippets/my-store.ts";
import { subject } from "./snippets/store-under-test.ts";

test("the example of the conformance suite passes for a store that can get and put, and nothing else", async () => {
  const results: CaseResult[] = [];
  const bodies: Array<() => Promise<void>> = [];
  const runner = {
    describe: (_: string, body: () => void) => body(),
    it: (_: string, body: () => Promise<void>) => void bodies.push(body),
  };
  const inVirtualTime = {
    ...subject,
    leaseMs: 15_000,
    outageMs: undefined,
    rounds: 20,
    async open() {
      const clock = new VirtualClock();
      const service = await startMyService();
      const connectWith = (own: Clock): Promise<RecordLeaseStore> =>
        Promise.resolve(new RecordLeaseStore(new MyRecordStore(service.url), { clock: own }));
      return {
        clock,
        connect: () => connectWith(clock),
        connectWith,
        pass: async (ms: number) => await clock.advance(ms),
        [Symbol.asyncDispose]: () => service.stop(),
      };
    },
  };
  conformance(runner, inVirtualTime, (result) => results.push(result));
  await Promise.allSettled(bodies.map(async (body) => await body()));
  expect(results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
  expect(results.filter(({ outcome }) => outcome === "passed").length).toBeGreaterThan(40);
});
