/** Tests a leader's watch of its own key. */
import { Elector } from "@leasehold/core";
import { beforeEach, describe, expect, it } from "vitest";
import { answered, VirtualEtcd } from "./virtual-etcd.ts";
import type { Wire } from "./wire.ts";

const LEASE_MS = 15_000;

describe("the leader of an election on etcd", () => {
  let etcd: VirtualEtcd;

  beforeEach(() => {
    etcd = new VirtualEtcd();
  });

  interface Candidate {
    readonly elector: Elector;
    readonly wire: Wire;
  }

  function compete(candidateId: string): Candidate {
    const { store, wire } = etcd.connect();
    const elector = new Elector({ store, election: "e", candidateId, leaseDurationMs: LEASE_MS, logger: false });
    void elector.run(async ({ ended }) => void (await ended));
    return { elector, wire };
  }

  /** Starts a leader and a standby. Both have renewed a while ago. */
  async function led(): Promise<readonly [leader: Candidate, next: Candidate]> {
    const leader = compete("leader");
    await etcd.clock.advance(1_000);
    const next = compete("next");
    await etcd.clock.advance(5_500);
    expect([leader.elector.isLeader, next.elector.isLeader]).toEqual([true, false]);
    return [leader, next];
  }

  const session = (): string => etcd.key(`e/${etcd.under("e/")[0] ?? ""}`)?.lease ?? "";

  it.each([
    { how: "its session is revoked", end: (): unknown => etcd.service.revoke(session()) },
    {
      how: "its key is deleted",
      end: (): unknown =>
        etcd.service.keys.transact({ success: [{ request_delete_range: { key: btoa(`e/${etcd.under("e/")[0] ?? ""}`) } }] }),
    },
  ])("leads for at most one more round trip if $how", async ({ end }) => {
    const [leader, next] = await led();
    end();
    await etcd.clock.advance(10);

    expect(leader.elector.isLeader).toBe(false);
    await etcd.clock.advance(100);
    expect(next.elector.isLeader).toBe(true);
  });

  it("sends no more requests because of the watch, whatever it publishes and others do", async () => {
    const [{ elector, wire }] = await led();
    const paths = answered(wire);
    const third = compete("third");
    await etcd.clock.advance(2_000);
    await etcd.run(third.elector.stop());
    await etcd.clock.advance(15_000 - 2_000);

    // A keep-alive and a read each third of its lease.
    expect(paths.filter((path) => path === "/v3/lease/keepalive")).toHaveLength(3);
    expect(elector.isLeader).toBe(true);
  });

  it("ends its watch once it has stopped", async () => {
    const [{ elector, wire }] = await led();
    await etcd.run(elector.stop());
    const paths = answered(wire);
    etcd.service.revoke(session());
    await etcd.clock.advance(1_000);

    expect(paths).toEqual([]);
  });
});
