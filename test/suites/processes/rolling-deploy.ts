import { timing } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import type { CandidateProcess } from "@leasehold/test-kit/candidates/candidate-process";
import type { LineOf } from "@leasehold/test-kit/candidates/history";
import { FIRST_ROUND_TRIPS_MS, type StoreStage } from "./store-stage.ts";

/** The lease's duration changes while candidates with the old one and the new one compete. */
export function rollingDeploy(stage: StoreStage): void {
  describe.concurrent("a rolling deploy that doubles the lease, and is rolled back", () => {
    test("never has two leaders, and everybody waits for as long as the leader's own lease lasts", async (context) => {
      const scene = await stage.scene(context);
      const shortMs = stage.leaseMs;
      const longMs = 2 * shortMs;
      const short = { elector: { leaseDurationMs: shortMs } };
      const long = { elector: { leaseDurationMs: longMs } };

      // Two with the short lease; new ones come before old ones go, the leader among them.
      const first = await scene.startLeader("short-1", short);
      const second = await scene.startStandby("short-2", short);
      const third = await scene.startStandby("long-3", long);
      first.signal("SIGTERM");
      const running = [second, third];
      await nextLeader(running, first);
      running.push(await scene.startStandby("long-4", long));
      second.signal("SIGTERM");
      await second.said("exited");
      running.splice(running.indexOf(second), 1);
      const longLeader = await renewing(running);

      // Back again: those with the short lease wait for the long one of a leader that dies.
      running.push(await scene.startStandby("short-5", short), await scene.startStandby("short-6", short));
      running.splice(running.indexOf(longLeader), 1);
      await longLeader.said("renewed", { after: longLeader.lines.at(-1) });
      longLeader.signal("SIGKILL");
      const afterLong = await nextLeader(running, longLeader);
      expect(sinceRenewalMs(longLeader, afterLong)).toBeGreaterThanOrEqual(longMs);
      expect(sinceRenewalMs(longLeader, afterLong)).toBeLessThanOrEqual(longestWaitMs(longMs));
      for (const old of running.filter(({ candidateId }) => candidateId.startsWith("long"))) {
        old.signal("SIGTERM");
        await old.said("exited");
        running.splice(running.indexOf(old), 1);
      }

      // And one with the long lease does not wait for more than the short one of a leader that dies.
      const shortLeader = await renewing(running);
      running.splice(running.indexOf(shortLeader), 1);
      running[0]!.signal("SIGTERM");
      await running[0]!.said("exited");
      const last = await scene.startStandby("long-7", long);
      await shortLeader.said("renewed", { after: shortLeader.lines.at(-1) });
      shortLeader.signal("SIGKILL");
      const afterShort = await nextLeader([last], shortLeader);
      expect(sinceRenewalMs(shortLeader, afterShort)).toBeGreaterThanOrEqual(shortMs);
      expect(sinceRenewalMs(shortLeader, afterShort)).toBeLessThanOrEqual(longestWaitMs(shortMs));

      expect(scene.cast.worstOverlapMs).toBeLessThanOrEqual(0);
    });
  });
}

/** Waits until one of them leads after `ended`, which has been told to end, or killed. */
async function nextLeader(candidates: readonly CandidateProcess[], ended: CandidateProcess): Promise<LineOf<"startedLeading">> {
  await ended.said("exited");
  const after = ended.last("startedLeading");
  return await Promise.any(candidates.map(async (candidate) => candidate.said("startedLeading", { after })));
}

/** Waits until one of them leads and renews, from now on; returns which. */
async function renewing(candidates: readonly CandidateProcess[]): Promise<CandidateProcess> {
  return await Promise.any(
    candidates.map(async (candidate) => {
      const after = candidate.lines.at(-1);
      await candidate.said("renewed", { after });
      return candidate;
    }),
  );
}

function sinceRenewalMs(killed: CandidateProcess, next: LineOf<"startedLeading">): number {
  return next.atMs - killed.last("granted").sentMs;
}

/** Those who have looked once may see the last renewal as late as the next one would have come. */
function longestWaitMs(leaseMs: number): number {
  return leaseMs + timing({ leaseDurationMs: leaseMs }).renewIntervalMs + FIRST_ROUND_TRIPS_MS;
}
