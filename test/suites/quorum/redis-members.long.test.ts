/** Three Redis servers as members of a quorum: the safe form of Redlock. One is paused, emptied, or replaced by an older replica. */
import { QuorumLeaseStore } from "@leasehold/quorum";
import { RedisLeaseStore } from "@leasehold/redis";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { redisMissing, startRedis } from "@leasehold/test-kit/backends/redis";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";

const election = "nightly-billing";
/** Each request to a member has a quarter of this time. */
const PATIENT = { timeoutMs: 20_000 };
const TIMES = { leaseDurationMs: 60_000, renewIntervalMs: 20_000, ...PATIENT };

/** The faults of one member. Each returns the end of the fault. */
const FAULTS: Readonly<Record<string, (member: Member) => Promise<() => void>>> = {
  "stands still": async ({ daemon }) => {
    await daemon.pause();
    return () => daemon.resume();
  },
  "is emptied": async ({ admin }) => {
    await admin.flushall();
    return () => undefined;
  },
  "is replaced by a replica without the last writes": async ({ admin, before }) => {
    await admin.flushall();
    for (const [key, dump] of before) await admin.restore(key, 0, dump);
    return () => undefined;
  },
};

interface Member {
  readonly daemon: Awaited<ReturnType<typeof startRedis>>;
  readonly admin: Redis;
  /** The member's keys at an earlier time. */
  readonly before: Map<string, Buffer>;
}

async function startMember(): Promise<Member> {
  const daemon = await startRedis();
  onTestFinished(() => daemon.stop());
  const admin = new Redis(daemon.port, "127.0.0.1");
  onTestFinished(() => admin.disconnect());
  return { daemon, admin, before: new Map() };
}

describe.skipIf(await isMissing(redisMissing()))("three Redis servers", () => {
  test.each(Object.entries(FAULTS))(
    "keep the leader, and the term rises, while one %s",
    { timeout: 600_000 },
    async (_, fault) => {
      const members = [await startMember(), await startMember(), await startMember()];
      const open = (): QuorumLeaseStore => {
        const stores = members.map(({ daemon: { port } }) => new RedisLeaseStore({ url: `redis://127.0.0.1:${port}` }));
        for (const store of stores) onTestFinished(() => store.close());
        return new QuorumLeaseStore({ members: { a: stores[0]!, b: stores[1]!, c: stores[2]! } });
      };
      const [one, other] = [open(), open()];
      const first = await one.acquire({ election, candidateId: "one", ...TIMES });
      if (!first.acquired) return expect.fail("Nobody else competes.");
      const [faulty] = members as [Member];
      for (const key of await faulty.admin.keys("*")) faulty.before.set(key, (await faulty.admin.dumpBuffer(key))!);
      await one.release(first.lease, PATIENT);
      const second = await one.acquire({ election, candidateId: "one", ...TIMES });
      if (!second.acquired) return expect.fail("Nobody else competes.");

      const end = await fault(faulty);
      expect(await other.acquire({ election, candidateId: "other", ...TIMES })).toMatchObject({ acquired: false });
      expect(await one.renew(second.lease, PATIENT)).toMatchObject({ held: true });
      expect(await one.release(second.lease, PATIENT)).toBe("released");
      expect(await other.read(election, PATIENT)).toMatchObject({ state: "vacant", term: 2 });
      expect(await other.acquire({ election, candidateId: "other", ...TIMES })).toMatchObject({ lease: { term: 3 } });
      end();
    },
  );
});
