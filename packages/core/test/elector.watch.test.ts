import { Elector, RecordLeaseStore } from "@leasehold/core";
import { ProcessClock, promptNetwork, SimulatedRecordService, VirtualClock, type Network } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { LEASE_MS } from "./election-world.ts";
import { untilAborted } from "./leader-tasks.ts";

test("an acquisition whose replies are all lost does not bar its own candidate, though the store pushes what it wrote", async () => {
  const world = new VirtualClock();
  const service = new SimulatedRecordService(world, { pushes: "every-write" });
  const clock = new ProcessClock(world);
  const prompt = promptNetwork(10);
  let losesReplies: boolean | undefined;
  const network: Network = (request) => {
    if (request.operation === "put") losesReplies ??= true;
    return losesReplies && request.operation !== "watch" ? { arrivals: [{ afterMs: 10 }] } : prompt(request);
  };
  const store = new RecordLeaseStore(service.connect(clock, network), { clock });
  const elector = new Elector({ store, election: "nightly-billing", candidateId: "a", clock, leaseDurationMs: LEASE_MS });
  const stopping = new AbortController();
  elector.on("storeFailed", () => (losesReplies = false));
  let ledAfterMs: number | undefined;
  const startMs = world.monotonicMs();
  elector.on("startedLeading", () => (ledAfterMs = world.monotonicMs() - startMs));
  void elector.run(untilAborted, { signal: stopping.signal });
  await world.advance(2 * LEASE_MS);
  stopping.abort();

  expect(ledAfterMs).toBeLessThan(0.7 * LEASE_MS);
});
