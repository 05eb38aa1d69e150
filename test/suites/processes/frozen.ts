import { describe, expect } from "vitest";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { test, TIME_LIMIT_MS } from "./test.ts";
import { LEASE_MS } from "./timing.ts";

const BLOCK_MS = 1.2 * LEASE_MS;

describe.concurrent(
  "a leader that is stopped until another one leads (SIGSTOP) and then goes on (SIGCONT)",
  { timeout: TIME_LIMIT_MS },
  () => {
    test.for([
      { path: "reachable", asks: true },
      { path: "black-holed", asks: false },
    ])("knows at once that it does not lead (store $path, it asks: $asks)", async ({ path, asks }, { scene }) => {
      const { leader, standby } = await scene.pair({ asks, guards: true });
      await leader.candidate.said("wrote");
      await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

      await leader.candidate.freeze();
      await standby.candidate.said("wrote");
      leader.proxy.partition(path === "black-holed");
      const thawMs = hostMs();
      leader.candidate.thaw();

      const thawed = await leader.candidate.said("thawed", { where: ({ atMs }) => atMs >= thawMs });
      const { lastUnabortedMs, code } = await leader.candidate.said("aborted");
      if (asks) expect(thawed.valid).toBe(false);
      // Its timers and its checks reported the loss before any other code of it ran.
      expect(lastUnabortedMs).toBeLessThan(thawed.atMs);
      expect(code).toBe("LEASE_LOST");

      // The last requests of the leader before the freeze may still arrive. Only the fence can stop those.
      leader.proxy.partition(false);
      leader.candidate.obey({ kind: "write" });
      await expect(leader.candidate.said("wrote", { after: thawed })).resolves.toMatchObject({ outcome: "refused" });
      await expect(scene.guardedContent()).resolves.toBe(standby.candidate.candidateId);
      expect(leader.candidate.all("startedLeading")).toHaveLength(1);
      if (asks) expect(scene.faults).toEqual([]);
    });
  },
);

describe.concurrent("a leader whose task blocks its event loop for longer than its lease", { timeout: TIME_LIMIT_MS }, () => {
  test("knows in the next statement that it does not lead", async ({ scene }) => {
    const { leader } = await scene.pair();
    await leader.candidate.said("granted", { where: ({ by }) => by === "renew" });

    leader.candidate.obey({ kind: "block", ms: BLOCK_MS });

    await expect(leader.candidate.said("unblocked")).resolves.toMatchObject({ valid: false, aborted: true });
    await leader.candidate.said("invalid");
    expect(scene.faults).toEqual([]);
  });
});
