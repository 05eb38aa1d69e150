import { randomUUID } from "node:crypto";
import { Elector, Observer, type ElectorOptions, type Leader } from "@leasehold/core";
import { SeededRandom } from "@leasehold/core/testing";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { etcdctl, etcdMissing, requestsAt, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { ElectProcess } from "@leasehold/test-kit/candidates/elect-process";
import type { FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startEtcdProxy } from "./etcd-place.ts";

const LEASE_MS = 9_000;
/** So long that hardly any candidate renews or reads while something is counted. */
const LONG_LEASE_MS = 600_000;
const TURNS = 20;
const CROWD = 200;
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

  test(`wakes only the next of ${CROWD} candidates when its leader ends, and no other one loses its place`, async () => {
    const election = randomUUID();
    const store = new EtcdLeaseStore({ endpoints: etcd.url });
    const led: string[] = [];
    const candidates = new Map<string, Candidate>();
    for (let place = 0; place < CROWD; place += 1) {
      const value = `candidate ${place}`;
      const candidate = ours(election, value, { store, leaseDurationMs: LONG_LEASE_MS });
      void candidate.leads.then(() => led.push(value));
      candidates.set(value, candidate);
    }
    await hasPlaces(election, CROWD);
    const order = await valuesIn(election);
    // Waits until all of them are in the queue, each with its key.
    for (let before = -1, now = 0; now !== before;) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      [before, now] = [now, await asked()];
    }
    for (let turn = 0; turn < 4; turn += 1) {
      const leader = candidates.get(order[turn] ?? "");
      const next = candidates.get(order[turn + 1] ?? "");
      await leader?.leads;
      const [before, keys] = [await asked(), await keysIn(election)];
      // The leader's end by a crash, and by its resignation, in turns.
      if (turn % 2 === 0) await etcdctl(etcd, ["lease", "revoke", keys[0]?.split("/").at(-1) ?? ""]);
      else await leader?.resign();
      await next?.leads;
      expect((await asked()) - before).toBeLessThan(CROWD / 10);
      expect((await valuesIn(election)).slice(0, CROWD - turn - 1)).toEqual(order.slice(turn + 1, CROWD));
    }
    expect(led).toEqual(order.slice(0, 5));
    await Promise.all([...candidates.values()].map(async (candidate) => candidate.resign()));
  });

  test("goes on if a watch stalls, and if etcd has compacted the revision at which a watch begins", async () => {
    await using proxy = await startEtcdProxy(etcd.url);
    for (const spoil of [standStill, compactFirst]) {
      const election = randomUUID();
      const leader = ours(election, "leader");
      await leader.leads;
      await spoil(proxy, etcd);
      const standby = ours(election, "standby", { store: new EtcdLeaseStore({ endpoints: proxy.url }) });
      await hasPlaces(election, 2);
      await proxy.waitFor(({ name }) => name === "/v3/watch");
      await leader.resign();
      await standby.leads;
      await standby.resign();
      proxy.clear();
    }
  });

  test("has a standby again, at the end, after its session was revoked; a leader whose session was revoked has lost", async () => {
    const election = randomUUID();
    const candidates: Candidate[] = [];
    for (const value of ["first", "second", "third"]) {
      candidates.push(ours(election, value));
      await hasPlaces(election, candidates.length);
    }
    const revoke = async (value: string): Promise<void> => {
      const index = (await valuesIn(election)).indexOf(value);
      await etcdctl(etcd, ["lease", "revoke", (await keysIn(election))[index]?.split("/").at(-1) ?? ""]);
    };
    await candidates[0]?.leads;
    await revoke("second");
    await expect.poll(async () => valuesIn(election)).toEqual(["first", "third", "second"]);
    await revoke("first");
    await expect(candidates[0]?.lost).resolves.toMatchObject({ code: "LEASE_LOST" });
    await candidates[2]?.leads;
    await candidates[2]?.resign();
    await candidates[1]?.leads;
    for (const candidate of candidates) await candidate.resign();
  });

  interface Candidate {
    readonly value: string;
    readonly leads: Promise<unknown>;
    /** The reason why its first term ended. */
    readonly lost: Promise<unknown>;
    /** Gives up its term or its place, finally. */
    resign(): Promise<void>;
  }

  function ours(election: string, value: string, options: Partial<ElectorOptions> = {}): Candidate {
    const store = options.store ?? new EtcdLeaseStore({ endpoints: etcd.url });
    const elector = new Elector({
      election,
      value,
      candidateId: value,
      leaseDurationMs: LEASE_MS,
      logger: false,
      ...options,
      store,
    });
    const leads = Promise.withResolvers<void>();
    const lost = Promise.withResolvers<unknown>();
    elector.on("startedLeading", () => leads.resolve());
    const run = elector.run(async (leadership) => {
      await untilAborted(leadership);
      lost.resolve(leadership.signal.reason);
    });
    const resign = async (): Promise<void> => {
      await elector.stop();
      await run;
    };
    onTestFinished(resign);
    return { value, leads: leads.promise, lost: lost.promise, resign };
  }

  function theirs(election: string, value: string): Candidate {
    const process = new ElectProcess(etcd, election, value);
    onTestFinished(() => process[Symbol.asyncDispose]());
    return { value, leads: process.says(), lost: Promise.resolve(), resign: () => process.resign() };
  }

  function observe(election: string, signal: AbortSignal): ReadonlyArray<Leader | undefined> {
    const seen: Array<Leader | undefined> = [];
    const observer = new Observer({ store: new EtcdLeaseStore({ endpoints: etcd.url }), election, logger: false });
    void (async () => {
      for await (const leader of observer.observe({ signal })) seen.push(leader);
    })();
    return seen;
  }

  async function keysIn(election: string): Promise<readonly string[]> {
    return await linesOf(["get", "--prefix", `${election}/`, "--sort-by=CREATE", "--keys-only"]);
  }

  async function valuesIn(election: string): Promise<readonly string[]> {
    return await linesOf(["get", "--prefix", `${election}/`, "--sort-by=CREATE", "--print-value-only"]);
  }

  async function linesOf(command: readonly string[]): Promise<readonly string[]> {
    return (await etcdctl(etcd, command)).split("\n").filter((line) => line !== "");
  }

  async function hasPlaces(election: string, count: number): Promise<void> {
    await expect.poll(async () => (await keysIn(election)).length).toBe(count);
  }

  async function asked(): Promise<number> {
    return [...(await requestsAt(etcd))].reduce((sum, [, count]) => sum + count, 0);
  }
});

async function standStill(proxy: FaultProxy): Promise<void> {
  proxy.passes = () => false;
}

/** Compacts etcd before a watch begins, so that etcd cancels the watch. The next watch passes. */
async function compactFirst(proxy: FaultProxy, etcd: Etcd): Promise<void> {
  proxy.passes = undefined;
  const compacted = Promise.withResolvers<void>();
  proxy.rule = ({ name }) => {
    if (name !== "/v3/watch") return undefined;
    proxy.rule = undefined;
    void compact(etcd).then(compacted.resolve);
    return { kind: "hold", until: compacted.promise };
  };
}

async function compact(etcd: Etcd): Promise<void> {
  for (let write = 0; write < 2; write += 1) await etcdctl(etcd, ["put", "elsewhere", "value"]);
  const status = JSON.parse(await etcdctl(etcd, ["get", "elsewhere", "--write-out=json"])) as { header: { revision: number } };
  await etcdctl(etcd, ["compact", String(status.header.revision)]);
}
