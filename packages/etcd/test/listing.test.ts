import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import type { EtcdLeaseStore } from "@leasehold/etcd";
import { beforeEach, describe, expect, it } from "vitest";
import { putting } from "../src/wire.ts";
import { VirtualEtcd } from "./virtual-etcd.ts";
import type { Wire } from "./wire.ts";

const LIMITS = { timeoutMs: 1_000 };
const REQUEST = { candidateId: "a", leaseDurationMs: 10_000, renewIntervalMs: 3_000, ...LIMITS };

describe("a list on etcd", () => {
  let etcd: VirtualEtcd;
  let store: EtcdLeaseStore;
  let wire: Wire;

  beforeEach(() => {
    etcd = new VirtualEtcd();
    ({ store, wire } = etcd.connect());
  });

  async function win(request: Pick<AcquireRequest, "election"> & Partial<AcquireRequest>): Promise<Lease> {
    const outcome = await etcd.run(store.acquire({ ...REQUEST, ...request }));
    if (!outcome.acquired) throw new Error(`It has not acquired: ${JSON.stringify(outcome)}`);
    return outcome.lease;
  }

  async function names(prefix = "", lister: EtcdLeaseStore = store): Promise<readonly string[]> {
    return (await etcd.run(Array.fromAsync(lister.list(prefix, LIMITS)))).map(({ election }) => election);
  }

  /** Returns how many requests a call sends. */
  async function requestsOf(call: () => Promise<unknown>): Promise<number> {
    wire.paths.length = 0;
    await call();
    return wire.paths.length;
  }

  async function put(key: string, lease = "0"): Promise<void> {
    const body = { success: [putting(key, "", lease)] };
    await etcd.run(wire.call("/v3/kv/txn", body, { signal: new AbortController().signal }));
  }

  it("has an election once, though the keys of another one lie between its own", async () => {
    const { termId } = await win({ election: "e" });
    const lease = etcd.key(`e/${termId}`)?.lease ?? "0";
    await put(`e/${termId}/${termId}`, lease);
    const rival = termId.replace(/.$/, termId.endsWith("f") ? "e" : "f");
    const rivalsLease = BigInt(`0x${rival}`).toString();
    await etcd.run(wire.call("/v3/lease/grant", { ID: rivalsLease, TTL: "10" }, { signal: new AbortController().signal }));
    await put(`e/${rival}`, rivalsLease);
    const { store: other } = etcd.connect();
    await etcd.run(other.acquire({ ...REQUEST, election: "f" }));
    expect(etcd.under("e/")).toHaveLength(3);
    expect(await names()).toEqual(["e", `e/${termId}`, "f"]);
  });

  it("has the records of fleets apart, in pages and with the age that their marks show", async () => {
    const { fleets } = store;
    const elections = ["fleet/a%2F/member/0", "fleet/a%2F/member/1", "fleet/a%2F/plan"];
    for (const election of elections) await etcd.run(fleets.acquire({ ...REQUEST, election }));
    await etcd.clock.advance(13_000);
    await etcd.run(fleets.acquire({ ...REQUEST, election: "fleet/a%2F/member/2", candidateId: "b" }));
    const { fleets: reader } = etcd.connect().store;
    const found = await etcd.run(Array.fromAsync(reader.list("fleet/a%2F/member/", LIMITS)));
    expect(found.map(({ election, state }) => [election, state])).toEqual([
      ["fleet/a%2F/member/0", "expired"],
      ["fleet/a%2F/member/1", "expired"],
      ["fleet/a%2F/member/2", "unknown"],
    ]);
    const request = async <T>(send: (options: { signal: AbortSignal }) => Promise<T>): Promise<T> =>
      await send({ signal: new AbortController().signal });
    const paged = await etcd.run(Array.fromAsync(reader.records.list!("fleet/a%2F/", { pageSize: 2, request })));
    expect(paged.map(({ election }) => election)).toEqual([
      "fleet/a%2F/member/0",
      "fleet/a%2F/member/1",
      "fleet/a%2F/member/2",
      "fleet/a%2F/plan",
    ]);
    expect(await names()).toEqual([]);
  });

  it("leaves out the keys of other programs", async () => {
    await win({ election: "e" });
    for (const key of ["registry/pods/abc", "/abc", "e/mine", "plain", ".leasehold/x/candidates/abc"]) await put(key);
    expect(await names()).toEqual(["e"]);
  });

  it("lists by the store's own prefix, and does not read what lies beside it", async () => {
    const { store: prefixed } = etcd.connect({ prefix: "apps/" });
    await win({ election: "e" });
    await etcd.run(prefixed.acquire({ ...REQUEST, election: "e2" }));
    expect(await names("", prefixed)).toEqual(["e2"]);
    expect(await names("e", prefixed)).toEqual(["e2"]);
  });

  it("takes one request for the keys, one for each forty elections, and one more where the store's own keys lie between", async () => {
    for (let index = 0; index < 41; index += 1) await win({ election: `e${index}` });
    expect(await requestsOf(() => names("e"))).toBe(3);
    expect(await requestsOf(() => names("none"))).toBe(1);
    expect(await requestsOf(() => names())).toBe(4);
  });
});
