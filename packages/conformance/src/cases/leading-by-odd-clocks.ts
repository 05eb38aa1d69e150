import assert from "node:assert/strict";
import type { Case } from "../case.ts";
import type { Candidate } from "../candidate.ts";
import { Contest } from "../contest.ts";
import { ProcessClock } from "@leasehold/core/testing";
import type { Scenario } from "../scenario.ts";

const HOUR_MS = 3_600_000;

/** Cases: electors stay safe when the clocks of their machines go wrong. */
export const leadingByOddClocks: readonly Case[] = [
  {
    id: "leading-wall-clock-jumps",
    title: "wall clocks that jump by an hour, forward or back, make no second leader, and keep no dead one",
    needs: ["clocks"],
    async run(scene) {
      const [aClock, bClock] = [new ProcessClock(scene.clock), new ProcessClock(scene.clock)];
      await using contest = new Contest(scene);
      const a = await contest.enterAndLead("a", await scene.connectWith(aClock), { clock: aClock, releaseOnStop: false });
      const b = await contest.enter("b", await scene.connectWith(bClock), { clock: bClock, releaseOnStop: false });
      await contest.leadsOn(a, 0.5 * scene.leaseMs);
      // No standby's wall clock makes a lease older, or younger.
      bClock.jumpWall(HOUR_MS);
      await contest.leadsOn(a, scene.lapseMs);
      bClock.jumpWall(-2 * HOUR_MS);
      await contest.leadsOn(a, scene.lapseMs);
      // The leader's own wall clock goes back; its monotonic clock goes on.
      aClock.jumpWall(-HOUR_MS);
      await contest.leadsOn(a, scene.lapseMs);
      // The leader's wall clock goes forward, as after a suspension. The leader gives up, and a candidate leads in a new term.
      aClock.jumpWall(2 * HOUR_MS);
      const [leadership] = a.leaderships;
      assert.equal(leadership?.isValid(), false, "an hour has passed by its wall clock");
      await contest.until("somebody leads again", () => contest.leader !== undefined, 2 * scene.leaseMs);
      const leader = contest.leader as Candidate;
      await contest.leadsOn(leader, scene.leaseMs);
      // A leader that dies with its clock set back is replaced like any other.
      const [clock, successor] = leader === a ? [aClock, b] : [bClock, a];
      clock.jumpWall(-HOUR_MS);
      await contest.leadsOn(leader, 0.5 * scene.leaseMs);
      void leader.stop();
      await contest.until("the other one leads", () => successor.leads, 2 * scene.leaseMs);
      assert.ok(scene.clock.monotonicMs() - leader.grantedMs >= 0.9 * scene.leaseMs, "it did not wait for the lease to run out");
    },
  },
  {
    id: "leading-suspended",
    title: "a leader whose machine was suspended for two leases knows in its first statement that it does not lead",
    needs: ["clocks"],
    async run(scene) {
      const { contest, a, b } = await leaderAndStandby(scene);
      await using _ = contest;
      const sinceMs = scene.clock.monotonicMs();
      a.suspend();
      await contest.until("another leads", () => b.leads, 2 * scene.leaseMs);
      await contest.pass(2 * scene.leaseMs - (scene.clock.monotonicMs() - sinceMs));
      a.resume();
      const [leadership] = a.leaderships;
      assert.equal(leadership?.isValid(), false, "its monotonic clock stood still; its wall clock did not");
      assert.ok(leadership.signal.aborted, "the signal of its task did not abort");
      await contest.leadsOn(b, scene.lapseMs);
      assert.deepEqual([a.leaderships.length, b.leaderships.length], [1, 1]);
    },
  },
  {
    id: "leading-release-after-takeover",
    title: "a leader that was paused with all its clocks, and so believes in itself, frees nothing of its successor's",
    needs: ["clocks"],
    async run(scene) {
      const { contest, a, b } = await leaderAndStandby(scene);
      await using _ = contest;
      a.suspend();
      await contest.until("another leads", () => b.leads, 2 * scene.leaseMs);
      await contest.leadsOn(b, scene.leaseMs);
      a.resumeUnawares();
      const [leadership] = a.leaderships;
      assert.ok(leadership?.isValid(), "by clocks that stood still it leads; else this case shows nothing");
      // Its task settles, so it sends its release.
      a.settle();
      await contest.until("it has tried to release its lease", () => a.releases.length > 0, scene.leaseMs);
      assert.deepEqual(a.releases, [false], "its release was confirmed");
      await contest.leadsOn(b, scene.lapseMs);
      assert.deepEqual([a.leaderships.length, b.leaderships.length], [1, 1]);
    },
  },
];

/**
 * Starts a leader and a standby. The leader has a clock of its own that can be suspended, and has renewed. The standby has read.
 */
async function leaderAndStandby(
  scene: Scenario,
): Promise<{ readonly contest: Contest; readonly a: Candidate; readonly b: Candidate }> {
  const clock = new ProcessClock(scene.clock);
  const [other] = await scene.connect(1);
  const contest = new Contest(scene);
  const a = await contest.enterAndLead("a", await scene.connectWith(clock), { clock });
  const b = await contest.enter("b", other);
  await contest.leadsOn(a, 0.6 * scene.leaseMs);
  return { contest, a, b };
}
