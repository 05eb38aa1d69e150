import { QuorumLeaseStore } from "@leasehold/quorum";
import { RedisLeaseStore } from "@leasehold/redis";
import type { Daemon } from "@leasehold/test-kit/backends/daemon";
import { startRedis } from "@leasehold/test-kit/backends/redis";
import { Redis } from "ioredis";
import Redlock from "redlock-5";
import { connected } from "./peers/redis-connection.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

const ELECTION = "nightly-billing";
/** No lease expires while a situation is played. */
const LEASE_MS = 600_000;
/** The time limit of a request to one server. A paused server never answers. */
const ANSWER_MS = 2_000;
const REPEATS = 3;

/** One of three Redis servers, and the keys that a replica without the last write has. */
interface Member {
  readonly daemon: Daemon;
  readonly admin: Redis;
  readonly before: Map<string, Buffer>;
}

/** The lease of one process. */
type Release = () => Promise<unknown>;

/** Makes one process acquire the lease. Undefined if it is refused. */
type Acquire = () => Promise<Release | undefined>;

interface Library {
  readonly title: string;
  readonly goal?: number;
  readonly connect: (members: readonly Member[], running: AsyncDisposableStack) => Promise<Acquire>;
}

const LIBRARIES: readonly Library[] = [
  {
    title: "redlock 5",
    async connect(members, running) {
      const clients: Redis[] = [];
      for (const { daemon } of members) {
        const client = new Redis(daemon.port, "127.0.0.1", { commandTimeout: ANSWER_MS });
        running.defer(() => client.disconnect());
        clients.push(await connected(client));
      }
      const redlock = new Redlock(clients);
      redlock.on("error", () => undefined);
      return async () =>
        await redlock.acquire([ELECTION], LEASE_MS, { retryCount: 0 }).then(
          (lock) => async () => await lock.release(),
          () => undefined,
        );
    },
  },
  {
    title: "Leasehold",
    goal: 0,
    connect(members, running) {
      const stores = members.map(({ daemon }) => new RedisLeaseStore({ url: `redis://127.0.0.1:${daemon.port}` }));
      for (const store of stores) running.defer(async () => await store.close());
      const [a, b, c] = stores as [RedisLeaseStore, RedisLeaseStore, RedisLeaseStore];
      const quorum = new QuorumLeaseStore({ members: { a, b, c } });
      const options = { leaseDurationMs: LEASE_MS, renewIntervalMs: LEASE_MS / 3, timeoutMs: 4 * ANSWER_MS };
      return Promise.resolve(async () => {
        const answer = await quorum.acquire({ election: ELECTION, candidateId: "x", ...options });
        return answer.acquired ? async () => await quorum.release(answer.lease, options) : undefined;
      });
    },
  },
];

type Fault = (member: Member) => Promise<unknown>;
const pause: Fault = async ({ daemon }) => await daemon.pause();
/** Without a replica a server then refuses writes, and a client may go on with the others. */
const refuse: Fault = async ({ admin }) => await admin.config("SET", "min-replicas-to-write", 1);
const accept: Fault = async ({ admin }) => await admin.config("SET", "min-replicas-to-write", 0);
const empty: Fault = async ({ admin }) => await admin.flushall();
const failOver: Fault = async ({ admin, before }) => {
  await admin.flushall();
  for (const [key, dump] of before) await admin.restore(key, 0, dump);
};

/** The faults before one candidate acquires, and those between that and the attempt of another one. */
const SITUATIONS: readonly { readonly title: string; readonly before?: Fault; readonly after: readonly [number, Fault][] }[] = [
  { title: "one is paused", after: [[2, pause]] },
  { title: "one is emptied", after: [[1, empty]] },
  {
    title: "one refused writes, and another is emptied",
    before: refuse,
    after: [
      [2, accept],
      [1, empty],
    ],
  },
  {
    title: "one refused writes, and another is replaced by a replica without the last write",
    before: refuse,
    after: [
      [2, accept],
      [1, failOver],
    ],
  },
];

/** The faults of one or two of three Redis servers, for Redlock and for a quorum. */
export const threeRedis: Section = {
  name: "three-redis",
  about: "two leaders on three Redis servers that are paused, emptied or failed over, for redlock 5 and a quorum of Leasehold",
  meaning: "One candidate has acquired a lease of ten minutes. 1 means that another one acquired it at the same time.",
  takesS: 60,
  async measure() {
    const results: Result[] = [];
    for (const { title, ...situation } of SITUATIONS) {
      for (const library of LIBRARIES) {
        const samples: number[] = [];
        for (let at = 0; at < REPEATS; at += 1) samples.push((await leadsTwice(library, situation)) ? 1 : 0);
        results.push({ measure: `${title}: ${library.title}`, unit: "two leaders", goal: library.goal, ...summarize(samples) });
      }
    }
    return results;
  },
};

/** Reports whether a second candidate acquires what the first one has. */
async function leadsTwice(
  { connect }: Library,
  { before, after }: Pick<(typeof SITUATIONS)[number], "before" | "after">,
): Promise<boolean> {
  await using running = new AsyncDisposableStack();
  const members: Member[] = [];
  for (let at = 0; at < 3; at += 1) {
    const daemon = await startRedis();
    running.defer(async () => await daemon.stop());
    const admin = await connected(new Redis(daemon.port, "127.0.0.1"));
    running.defer(() => admin.disconnect());
    members.push({ daemon, admin, before: new Map() });
  }
  const [one, other] = [await connect(members, running), await connect(members, running)];
  // A quorum begins with all of its members.
  await (
    await one()
  )?.();
  for (const { admin, before: copy } of members) {
    for (const key of await admin.keys("*")) copy.set(key, (await admin.dumpBuffer(key))!);
  }
  await before?.(members[2]!);
  if (!(await one())) throw new Error("The first candidate did not acquire, although two of three servers answer.");
  for (const [at, fault] of after) await fault(members[at]!);
  const isSecond = (await other()) !== undefined;
  for (const { daemon } of members) daemon.resume();
  return isSecond;
}
