import { randomUUID } from "node:crypto";
import type { Lease } from "@leasehold/core/provider";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { etcdctl, etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const LIMITS = { timeoutMs: 5_000 };

describe.skipIf(await isMissing(etcdMissing()))("an election that programs in Go compete in", () => {
  let etcd: Etcd;
  let store: EtcdLeaseStore;

  beforeAll(async () => {
    etcd = await startEtcd();
    store = new EtcdLeaseStore({ endpoints: etcd.url, prefix: "/services/" });
  });

  afterAll(async () => {
    await etcd.stop();
  });

  it("has its keys below the unchanged prefix: the name, a slash, and the lease in hex, with the published value", async () => {
    const lease = await win("a/100%", { value: "http://10.0.0.7" });
    const key = `/services/a/100%/${lease.termId}`;
    expect(await etcdctl(etcd, ["get", "--prefix", "/services/"])).toBe(`${key}\nhttp://10.0.0.7\n`);
    expect(await etcdctl(etcd, ["lease", "timetolive", lease.termId, "--keys"])).toContain(key);
    // Keys that Go does not have lie elsewhere, where no election is inside another.
    expect(await etcdctl(etcd, ["get", "--prefix", ".leasehold/", "--keys-only"])).toContain(
      `.leasehold/%2Fservices%2Fa%2F100%25/candidates/${lease.termId}`,
    );
    await store.release(lease, LIMITS);
  });

  it("has the candidateId as the value of a candidate that publishes nothing", async () => {
    const lease = await win(randomUUID());
    expect(await etcdctl(etcd, ["get", "--prefix", "/services/", "--print-value-only"])).toBe("candidate\n");
    await store.release(lease, LIMITS);
  });

  it("names a foreign leader by its value, or by its lease if that is empty", async () => {
    for (const value of ["a program in Go", ""]) {
      const election = randomUUID();
      const { lease, revision } = await enterAsGo(election, value);
      expect(await store.read(election)).toEqual({
        election,
        state: "held",
        term: revision,
        holder: value || `lease ${lease}`,
        value,
        bar: { kind: "lease" },
      });
      const request = { election, candidateId: "candidate", leaseDurationMs: 5_000, renewIntervalMs: 2_000, ...LIMITS };
      expect(await store.acquire(request)).toMatchObject({ acquired: false, current: { term: revision } });
    }
  });

  it("refuses to break a foreign leader unless `immediate` is set, and says so", async () => {
    const election = randomUUID();
    const { revision } = await enterAsGo(election, "a program in Go");
    await expect(store.break(election, { reason: "stuck" })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/immediate: true.*does not notice/) as string,
    });
    expect(await store.read(election)).toMatchObject({ state: "held" });
    expect(await store.break(election, { reason: "stuck", immediate: true })).toEqual({ broken: true, term: revision });
    const lease = await win(election);
    await store.release(lease, LIMITS);
  });

  it("is refused if its oldest key is not a candidate's, for which Go's candidates would wait, too", async () => {
    const election = randomUUID();
    const key = `/services/${election}/inner/4b5c`;
    await etcdctl(etcd, ["put", key, "somebody's"]);
    for (const call of [
      () => store.read(election),
      () => win(election),
      () => store.break(election, { reason: "x", immediate: true }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "FOREIGN_RECORD", message: expect.stringContaining(key) as string });
    }
    expect(await etcdctl(etcd, ["get", key, "--print-value-only"])).toBe("somebody's\n");
  });

  it("shows a leader whose value is not UTF-8", async () => {
    const election = randomUUID();
    const lease = await grant(5);
    const body = {
      key: Buffer.from(`/services/${election}/${lease}`).toString("base64"),
      value: "/w==",
      lease: BigInt(`0x${lease}`).toString(),
    };
    await fetch(`${etcd.url}/v3/kv/put`, { method: "POST", body: JSON.stringify(body) });
    expect(await store.read(election)).toMatchObject({ state: "held", holder: "\ufffd" });
  });

  async function win(election: string, options: { readonly value?: string } = {}): Promise<Lease> {
    const request = { election, candidateId: "candidate", leaseDurationMs: 5_000, renewIntervalMs: 2_000, ...LIMITS, ...options };
    const outcome = await store.acquire(request);
    if (!outcome.acquired) throw new Error(`It has not acquired: ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }

  /** Enters an election with the same requests as Go's `concurrency.Election`. */
  async function enterAsGo(election: string, value: string): Promise<{ readonly lease: string; readonly revision: number }> {
    const lease = await grant(60);
    const key = `/services/${election}/${lease}`;
    await etcdctl(etcd, ["put", `--lease=${lease}`, key, "--", value]);
    const shown = JSON.parse(await etcdctl(etcd, ["get", key, "--write-out=json"])) as { kvs: [{ create_revision: number }] };
    return { lease, revision: shown.kvs[0].create_revision };
  }

  /** Returns a lease of the server's choice, in hex. */
  async function grant(ttlS: number): Promise<string> {
    return /lease ([0-9a-f]+) granted/.exec(await etcdctl(etcd, ["lease", "grant", String(ttlS)]))?.[1]?.replace(/^0+/, "") ?? "";
  }
});
