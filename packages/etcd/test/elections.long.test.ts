import { randomUUID } from "node:crypto";
import { Elector, Observer, type Leader } from "@leasehold/core";
import { SeededRandom } from "@leasehold/core/testing";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { etcdctl, etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { ElectProcess } from "@leasehold/test-kit/candidates/elect-process";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

const LEASE_MS = 9_000;
const TURNS = 20;
const SEED = 20_261_123;

describe.skipIf(await isMissing(etcdMissing()))("an election on etcd", () => {
  let etcd: Etcd;

  beforeAll(async () => {
    etcd = await startEtcd();
  });

  afterAll(() => etcd.stop());

  test("has Leasehold's candidates and `etcdctl elect` in one queue: each leads in its turn, in the order in which they came", async () => {
    const election = randomUUID();
    const random = new SeededRandom(SEED);
    await using listening = new ElectProcess(etcd, election);
    const observing = new AbortController();
    onTestFinished(() => observing.abort());
    const seen = observe(election, observing.signal);
    const enter = async (turn: number): Promise<Candidate> => {
      const value = `${random.next() < 0.5 ? "ours" : "Go's"} ${turn}`;
      const candidate = value.startsWith("ours") ? ours(election, value) : theirs(election, value);
      await hasPlaces(election, turn < 3 ? turn + 1 : 3);
      return candidate;
    };
    const queue: Candidate[] = [];
    for (let turn = 0; turn < 3; turn += 1) queue.push(await enter(turn));
    const kinds = new Set<string>();
    for (let turn = 0; turn < TURNS; turn += 1) {
      const [leader, next] = queue as [Candidate, Candidate];
      await leader.leads;
      expect(await listening.says(turn)).toMatchObject({ value: leader.value });
      await expect.poll(() => seen.at(-1)?.value).toBe(leader.value);
      kinds.add(`${leader.value.slice(0, 4)}, ${next.value.slice(0, 4)}`);
      queue.shift();
      await leader.resign();
      queue.push(await enter(turn + 3));
    }
    expect([...kinds].toSorted()).toEqual(["Go's, Go's", "Go's, ours", "ours, Go's", "ours, ours"]);
    for (const candidate of queue) await candidate.resign();
  });

  interface Candidate {
    readonly value: string;
    readonly leads: Promise<unknown>;
    /** Gives up its term or its place, finally. */
    resign(): Promise<void>;
  }

  function ours(election: string, value: string): Candidate {
    const store = new EtcdLeaseStore({ endpoints: etcd.url });
    const elector = new Elector({ store, election, value, candidateId: value, leaseDurationMs: LEASE_MS, logger: false });
    const leads = Promise.withResolvers<void>();
    elector.on("startedLeading", () => leads.resolve());
    const run = elector.run(untilAborted);
    const resign = async (): Promise<void> => {
      await elector.stop();
      await run;
    };
    onTestFinished(resign);
    return { value, leads: leads.promise, resign };
  }

  function theirs(election: string, value: string): Candidate {
    const process = new ElectProcess(etcd, election, value);
    onTestFinished(() => process[Symbol.asyncDispose]());
    return { value, leads: process.says(), resign: () => process.resign() };
  }

  function observe(election: string, signal: AbortSignal): ReadonlyArray<Leader | undefined> {
    const seen: Array<Leader | undefined> = [];
    const observer = new Observer({ store: new EtcdLeaseStore({ endpoints: etcd.url }), election, logger: false });
    void (async () => {
      for await (const leader of observer.observe({ signal })) seen.push(leader);
    })();
    return seen;
  }

  async function hasPlaces(election: string, count: number): Promise<void> {
    const keys = async (): Promise<string> => await etcdctl(etcd, ["get", "--prefix", `${election}/`, "--keys-only"]);
    await expect.poll(async () => (await keys()).split("\n").filter((line) => line !== "").length).toBe(count);
  }
});
