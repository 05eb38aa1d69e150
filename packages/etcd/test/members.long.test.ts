import { join } from "node:path";
import { rm } from "node:fs/promises";
import { Elector, type Leadership } from "@leasehold/core";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { etcdctl, etcdMissing, startEtcd, startEtcdCluster } from "@leasehold/test-kit/backends/etcd";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { describe, test, type TestContext } from "vitest";

/** The members take a second or two to elect a leader of their own. No renewal must miss its deadline because of that. */
const TIMING = { leaseDurationMs: 9_000, renewIntervalMs: 1_000, renewDeadlineMs: 7_000 };
const ELECTION = "nightly-billing";

describe.skipIf(await isMissing(etcdMissing())).concurrent("the members of an etcd", () => {
  test("with one of three killed the leader stays; with two killed no candidate leads; after one returns a candidate leads", async ({
    expect,
    onTestFinished,
  }) => {
    const members = await startEtcdCluster();
    onTestFinished(async () => void (await Promise.all(members.map((member) => member.stop()))));
    const endpoints = members.map(({ url }) => url);
    const leader = new Campaign(endpoints, onTestFinished);
    const first = await leader.leads();
    const standby = new Campaign(endpoints, onTestFinished);
    // This is the member that the store has used so far.
    await members[0].kill();
    for (let renewals = 0; renewals < 3; renewals += 1) await leader.renewed();
    expect(first.isValid()).toBe(true);

    await members[1].kill();
    await untilAborted(first);
    await expect.poll(() => first.isValid(), { timeout: TIMING.leaseDurationMs }).toBe(false);
    expect(leader.terms.length + standby.terms.length).toBe(1);

    await members[0].restart();
    const next = await Promise.race([leader.leads(1), standby.leads()]);
    expect(next.term).toBeGreaterThan(first.term);
    expect(next.isValid()).toBe(true);
  });

  test("a member restored from a snapshot, which has forgotten a term, grants only a higher one", async ({
    expect,
    onTestFinished,
  }) => {
    const folder = await memoryFolder("leasehold-etcd-snapshot-");
    onTestFinished(async () => rm(folder, { recursive: true, force: true }));
    const snapshot = join(folder, "snapshot");
    const etcd = await startEtcd();
    onTestFinished(() => etcd.stop());
    await etcdctl(etcd, ["snapshot", "save", snapshot]);
    const campaign = new Campaign(etcd.url, onTestFinished);
    const before = await campaign.leads();
    await etcd.stop();
    const restored = await startEtcd({ snapshot, port: etcd.port });
    onTestFinished(() => restored.stop());

    await untilAborted(before);
    // Each attempt to campaign raises the revision, and so does the loop below.
    await campaign.failed("TERM_REGRESSED");

    // The loop has the effect of --bump-revision, which etcd 3.4 does not have.
    while ((await revisionOf(restored)) <= before.term + 10) await etcdctl(restored, ["put", "elsewhere", "value"]);
    expect((await campaign.leads(1)).term).toBeGreaterThan(before.term);
  });
});

/** A candidate that campaigns until its test ends. */
class Campaign {
  readonly terms: Leadership[] = [];
  readonly #elector: Elector;
  readonly #codes = new Set<string>();
  #happened = Promise.withResolvers<void>();
  #renewals = 0;

  constructor(endpoints: string | readonly string[], onTestFinished: TestContext["onTestFinished"]) {
    const store = new EtcdLeaseStore({ endpoints });
    this.#elector = new Elector({ store, election: ELECTION, ...TIMING, logger: false });
    this.#elector.on("renewed", () => this.#happens(() => (this.#renewals += 1)));
    this.#elector.on("storeFailed", ({ error }) => this.#happens(() => this.#codes.add((error as { code: string }).code)));
    const run = this.#elector.run(async (leadership) => {
      this.#happens(() => this.terms.push(leadership));
      await untilAborted(leadership);
    });
    onTestFinished(async () => {
      await this.#elector.stop();
      await run;
    });
  }

  async leads(index = 0): Promise<Leadership> {
    await this.#until(() => this.terms.length > index);
    return this.terms[index] as Leadership;
  }

  async renewed(): Promise<void> {
    const before = this.#renewals;
    await this.#until(() => this.#renewals > before);
  }

  async failed(code: string): Promise<void> {
    await this.#until(() => this.#codes.has(code));
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#happened.promise;
  }

  #happens(note: () => unknown): void {
    note();
    this.#happened.resolve();
    this.#happened = Promise.withResolvers();
  }
}

async function revisionOf(etcd: Parameters<typeof etcdctl>[0]): Promise<number> {
  const shown = JSON.parse(await etcdctl(etcd, ["get", "x", "--write-out=json"])) as { header: { revision: number } };
  return shown.header.revision;
}
