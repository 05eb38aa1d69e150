import { Elector } from "@leasehold/core";
import { TermRegressedError } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { EtcdLeaseStore, type Json } from "@leasehold/etcd";
import { describe, expect, it } from "vitest";
import { header, scripted } from "./scripted.ts";

const LIMITS = { timeoutMs: 1_000 };
const REQUEST = { election: "e", candidateId: "c", leaseDurationMs: 5_000, renewIntervalMs: 1_000, ...LIMITS };

describe("a cluster that has gone back", () => {
  it("has a revision below one that was seen, and no candidate leads until it is above that", async () => {
    const revisions = [7, 6, 7];
    const store = new EtcdLeaseStore({ transport: scripted((index) => header(revisions[index] ?? 0)) });
    await store.read("e");
    const reading = store.read("e");
    await expect(reading).rejects.toThrow(TermRegressedError);
    await expect(reading).rejects.toMatchObject({ foundTerm: 6, highestTermSeen: 7 });
    await expect(reading).rejects.toThrow(/snapshot restore --bump-revision \d+ --mark-compacted/);
    expect(await store.read("e")).toBeUndefined();
  });

  it("is also another cluster that is not ahead; a cluster that is ahead counts as the same one, restored correctly", async () => {
    const replies = [header(7, "1"), header(7, "2"), header(8, "2"), header(8, "1"), header(9, "1")];
    const store = new EtcdLeaseStore({ transport: scripted((index) => replies[index] as Json) });
    await store.read("e");
    await expect(store.read("e")).rejects.toThrow(TermRegressedError);
    await store.read("e");
    await expect(store.read("e")).rejects.toThrow(TermRegressedError);
    await store.read("e");
  });

  it("is not one whose members lag in replies that are not linearizable, nor one whose replies overtake each other", async () => {
    const late = Promise.withResolvers<void>();
    const transport = scripted((_, path) => (path === "/v3/lease/grant" ? { ...header(3), ID: "1", TTL: "5" } : header(9)));
    const call = transport.call.bind(transport);
    let reads = 0;
    transport.call = async (path, body, options) => {
      const reply = await call(path, body, options);
      reads += 1;
      if (reads !== 1) return reply;
      await late.promise;
      return { ...reply, body: header(4) };
    };
    const store = new EtcdLeaseStore({ transport });
    const first = store.read("e");
    await store.read("e");
    late.resolve();
    expect(await first).toBeUndefined();
    // The grant shows an older revision than all other replies.
    expect(await store.acquire(REQUEST)).toMatchObject({ acquired: false });
  });

  it("is not one whose term an elector remembers longer than the store: it leads again hours later", async () => {
    const clock = new VirtualClock();
    const transport = scripted((index) => ({ ...header(index + 1), succeeded: true, TTL: "15" }));
    const store = new EtcdLeaseStore({ transport, clock });
    const elector = (election: string): Elector => new Elector({ store, election, clock, logger: false });
    const nightly = elector("nightly");
    await nightly.tryRun(() => undefined);
    await clock.advance(24 * 3_600_000);
    for (const other of ["a", "b", "c"]) await elector(other).tryRun(() => undefined);
    expect(await nightly.tryRun(() => undefined)).toMatchObject({ elected: true });
  });

  it("grants no term at or below the highest seen, and gets no write", async () => {
    for (const wish of [{ aboveTerm: 8 }, { minTerm: 9 }]) {
      const transport = scripted(() => header(7));
      const acquiring = new EtcdLeaseStore({ transport }).acquire({ ...REQUEST, ...wish });
      await expect(acquiring).rejects.toMatchObject({ code: "TERM_REGRESSED", foundTerm: 7, highestTermSeen: 8 });
      expect(transport.requests.map(({ path }) => path)).toEqual(["/v3/kv/txn"]);
    }
  });

  it("grants a term that is just above the highest seen", async () => {
    for (const wish of [{ aboveTerm: 7 }, { minTerm: 8 }, {}]) {
      const transport = scripted((index, path) => {
        if (path === "/v3/lease/grant") return { ...header(7), ID: "1", TTL: "5" };
        return index === 0 ? header(7) : { ...header(8), succeeded: true };
      });
      const outcome = await new EtcdLeaseStore({ transport }).acquire({ ...REQUEST, ...wish });
      expect(outcome).toMatchObject({ acquired: true, lease: { term: 8 } });
    }
  });

  it("is not detected by a keep-alive, which any member may answer from its own state", async () => {
    const transport = scripted((index, path) => {
      if (path === "/v3/lease/grant") return { ...header(7), ID: "1", TTL: "5" };
      if (path === "/v3/lease/keepalive") return { result: { ...header(3), ID: "1", TTL: "5" } };
      return index === 0 ? header(7) : { ...header(8), succeeded: true };
    });
    const store = new EtcdLeaseStore({ transport });
    const outcome = await store.acquire(REQUEST);
    if (!outcome.acquired) throw new Error("it has not acquired");
    // The last reply has no key of this candidate. So the renewal has reached the read.
    expect(await store.renew(outcome.lease, LIMITS)).toMatchObject({ held: false, reason: "missing" });
  });

  it("grants its very first term", async () => {
    const transport = scripted((index, path) => {
      if (path === "/v3/lease/grant") return { ...header(0), TTL: "5" };
      return index === 0 ? header(0) : { ...header(1), succeeded: true };
    });
    const outcome = await new EtcdLeaseStore({ transport }).acquire(REQUEST);
    expect(outcome).toMatchObject({ acquired: true, lease: { term: 1 } });
  });

  it("is detected also if only a write shows it, and the candidate leaves no key that others would wait for", async () => {
    const transport = scripted((index, path) => {
      if (path === "/v3/lease/grant") return { ...header(7), TTL: "5" };
      return index === 0 ? header(7) : { ...header(6), succeeded: true };
    });
    await expect(new EtcdLeaseStore({ transport }).acquire(REQUEST)).rejects.toMatchObject({ code: "TERM_REGRESSED" });
    const [, grant, , revoke] = transport.requests;
    expect(revoke).toMatchObject({ path: "/v3/lease/revoke", body: { ID: grant?.body["ID"] } });
  });

  it("is not detected by replies of a single member: the end of a lease, and the rest of a hold", async () => {
    const kv = (value: string): Json => ({ kvs: [{ key: base64("e/1f"), create_revision: "8", lease: "31", value }] });
    const hold = kv(base64(JSON.stringify({ schema: 1, kind: "hold", holdMs: 5_000 })));
    const transport = scripted((_, path) => {
      if (path !== "/v3/kv/txn") return { ...header(3), TTL: "2" };
      return { ...header(9), responses: [kv(""), {}, hold].map((range) => ({ response_range: range })) };
    });
    const store = new EtcdLeaseStore({ transport });
    expect(await store.read("e")).toMatchObject({ bar: { kind: "hold", leftMs: 3_000 } });
    const place = store.join(REQUEST, { signal: new AbortController().signal });
    await expect(place.turns()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "STORE_REJECTED" });
    await place.leave(LIMITS);
    expect(transport.requests.at(-1)?.path).toBe("/v3/lease/revoke");
  });

  it.each(["-1", "0.5", "seven"])("is refused with the revision %s", async (revision) => {
    const transport = scripted(() => ({ header: { cluster_id: "1", revision, raft_term: "2" } }));
    await expect(new EtcdLeaseStore({ transport }).read("e")).rejects.toThrow(/etcd's revision .*must be a whole number/);
  });

  it("grants no term above Number.MAX_SAFE_INTEGER", async () => {
    const transport = scripted(() => ({ header: { cluster_id: "1", revision: "9007199254740993", raft_term: "2" } }));
    await expect(new EtcdLeaseStore({ transport }).read("e")).rejects.toThrow(/must be a whole number/);
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
