import { ConfigurationError, UnsupportedError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { EtcdLeaseStore, type EtcdLeaseStoreOptions, type EtcdTransport } from "@leasehold/etcd";
import { describe, expect, it } from "vitest";

const SECRET = "correct-horse-battery-staple";
const ENDPOINTS = ["http://10.0.0.7:2379", "http://10.0.0.8:2379"];
const SILENT = { call: () => Promise.reject(new Error("it was asked")), watch: () => [] } as unknown as EtcdTransport;
const LIMITS = { timeoutMs: 1_000 };

describe("an EtcdLeaseStore is not made", () => {
  it.each<readonly [string, unknown, RegExp]>([
    ["without options", undefined, /needs its options/],
    ["without a way to etcd", {}, /needs endpoints/],
    ["with two ways to etcd", { endpoints: ENDPOINTS, transport: SILENT }, /needs endpoints/],
    ["with an unknown option", { endpoint: ENDPOINTS }, /Was 'endpoints' meant/],
    ["with no endpoint", { endpoints: [] }, /endpoints is empty/],
    ["with a number for endpoints", { endpoints: 2379 }, /endpoints is empty/],
    ["with a host for an endpoint", { endpoints: ["http://10.0.0.7:2379", "10.0.0.8:2379"] }, /endpoints\[1\] is not a URL/],
    ["with a user in an endpoint", { endpoints: `http://root:${SECRET}@10.0.0.7:2379` }, /endpoints\[0\] has a user/],
    ["with a password in an endpoint", { endpoints: `http://:${SECRET}@10.0.0.7:2379` }, /endpoints\[0\] has a user/],
    ["with a user alone in an endpoint", { endpoints: "http://root@10.0.0.7:2379" }, /endpoints\[0\] has a user/],
    ["with a query in an endpoint", { endpoints: "http://10.0.0.7:2379?a=b" }, /endpoints\[0\] has a path or a query/],
    ["with a fragment in an endpoint", { endpoints: "http://10.0.0.7:2379#a" }, /endpoints\[0\] has a path or a query/],
    ["with a scheme of another kind", { endpoints: "ftp://10.0.0.7:2379" }, /endpoints\[0\] is not a URL/],
    ["with a number among its endpoints", { endpoints: [...ENDPOINTS, 2379] }, /endpoints\[2\] is not a URL/],
    ["with a path in an endpoint", { endpoints: "http://10.0.0.7:2379/v3" }, /endpoints\[0\] has a path/],
    ["with endpoints of two kinds", { endpoints: ["http://10.0.0.7:2379", "https://10.0.0.8:2379"] }, /those of one kind/],
    ["with certificates for http:", { endpoints: ENDPOINTS, tls: { ca: "x" } }, /tls needs endpoints of https:/],
    ["with certificates for a transport", { transport: SILENT, tls: {} }, /a transport brings its own/],
    [
      "with a certificate without its key",
      { endpoints: "https://10.0.0.7:2379", tls: { cert: "x" } },
      /only one of cert and key/,
    ],
    ["with a key without its certificate", { endpoints: "https://10.0.0.7:2379", tls: { key: "x" } }, /only one of cert and key/],
    [
      "with what is no certificate",
      { endpoints: "https://10.0.0.7:2379", tls: { ca: SECRET, cert: SECRET, key: SECRET } },
      /must be PEM/,
    ],
    ["with an unknown part of tls", { endpoints: "https://10.0.0.7:2379", tls: { pfx: SECRET } }, /no option 'pfx'/],
    ["with a transport that is none", { transport: {} }, /not an EtcdTransport/],
    ["with a transport that is nothing", { transport: null }, /not an EtcdTransport/],
    ["with a transport that cannot call", { transport: { ...SILENT, call: undefined } as never }, /not an EtcdTransport/],
    ["with a transport that cannot watch", { transport: { ...SILENT, watch: undefined } as never }, /not an EtcdTransport/],
    ["with a user without a password", { endpoints: ENDPOINTS, user: "root" }, /password is missing/],
    ["with an empty password", { endpoints: ENDPOINTS, user: "root", password: "" }, /password is missing/],
    ["with a number for its user", { endpoints: ENDPOINTS, user: 7, password: SECRET }, /user is missing/],
    ["with a lone surrogate in its prefix", { endpoints: ENDPOINTS, prefix: "a\ud800" }, /prefix must be text/],
    ["with a password without a user", { endpoints: ENDPOINTS, password: SECRET }, /user is missing/],
    ["with a control character in its prefix", { endpoints: ENDPOINTS, prefix: "a\nb" }, /prefix must be text/],
    ["with a number for its prefix", { endpoints: ENDPOINTS, prefix: 7 }, /prefix must be text/],
  ])("%s", (_, options, message) => {
    const making = (): unknown => new EtcdLeaseStore(options as EtcdLeaseStoreOptions);
    expect(making).toThrow(ConfigurationError);
    expect(making).toThrow(message);
    expect(making).not.toThrow(SECRET);
  });
});

describe("an EtcdLeaseStore", () => {
  it.each<readonly [string, EtcdLeaseStoreOptions]>([
    ["one endpoint", { endpoints: "http://10.0.0.7:2379" }],
    ["endpoints with and without a slash", { endpoints: ["https://10.0.0.7:2379/", "https://10.0.0.8:2379"] }],
    ["tls that trusts what Node does", { endpoints: "https://10.0.0.7:2379", tls: {} }],
    ["a user", { endpoints: ENDPOINTS, user: "root", password: SECRET, prefix: "/services/" }],
  ])("is made with %s", (_, options) => {
    expect(() => new EtcdLeaseStore(options)).not.toThrow();
  });

  it("states its capabilities", () => {
    expect(new EtcdLeaseStore({ transport: SILENT }).capabilities).toEqual({
      expiry: "native",
      watch: "push",
      minLeaseMs: 2_000,
      maxLeaseMs: 2_147_483_000,
      leaseGranularityMs: 1_000,
      maxValueBytes: 65_536,
      fence: "atomic",
      transfer: undefined,
      list: true,
      storeClock: { toleranceMs: 1_000, exact: true },
    });
  });
});

describe("before anything is sent, a store refuses", () => {
  const store = new EtcdLeaseStore({ transport: SILENT });
  const request = { election: "e", candidateId: "c", leaseDurationMs: 5_000, renewIntervalMs: 1_000, ...LIMITS };

  it.each([1_000, 2_500, 2_147_484_000])("a lease of %i ms", async (leaseDurationMs) => {
    await expect(store.acquire({ ...request, leaseDurationMs })).rejects.toThrow(ConfigurationError);
    expect(() => store.join({ ...request, leaseDurationMs }, { signal: new AbortController().signal })).toThrow(
      ConfigurationError,
    );
  });

  it("a reservation, because etcd does not keep the last leader", async () => {
    await expect(store.acquire({ ...request, reservation: { group: "g", durationMs: 1_000 } })).rejects.toThrow(UnsupportedError);
  });

  it("a transfer, because the next in the queue leads", async () => {
    await expect(store.transfer("e", "c")).rejects.toThrow(UnsupportedError);
  });

  it.each([
    ["", ".leasehold"],
    ["", ".leasehold/e"],
    [".lease", "hold"],
    [".leasehold/", "e"],
  ])("with the prefix '%s', the election '%s', whose keys would be among its own", async (prefix, election) => {
    await expect(new EtcdLeaseStore({ transport: SILENT, prefix }).read(election)).rejects.toThrow(/kept for the store's own/);
  });

  it.each<readonly [string, object, RegExp]>([
    ["an election without a name", { election: "" }, /election/],
    ["a candidate without a name", { candidateId: "" }, /candidateId/],
    ["a value that is too long", { value: "x".repeat(65_537) }, /value/],
    ["a rhythm of no time", { renewIntervalMs: 0 }, /renewIntervalMs/],
    ["a least term that is none", { minTerm: -1 }, /minTerm/],
    ["keys among its own", { election: ".leasehold" }, /kept for the store's own/],
  ])("%s", async (_, wish, message) => {
    await expect(store.acquire({ ...request, ...wish })).rejects.toThrow(message);
    expect(() => store.join({ ...request, ...wish }, { signal: new AbortController().signal })).toThrow(message);
  });

  it.each([2_000, 3_000, 2_147_483_000])("no lease of %i ms", async (leaseDurationMs) => {
    const value = "x".repeat(65_536);
    await expect(store.acquire({ ...request, leaseDurationMs, value })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  it("an invalid name or retention, in every call", async () => {
    await expect(store.read("")).rejects.toThrow(ConfigurationError);
    await expect(store.check({ election: "" })).rejects.toThrow(ConfigurationError);
    await expect(store.transfer("", "c")).rejects.toThrow(ConfigurationError);
    expect(() => store.watch("", { signal: new AbortController().signal })).toThrow(ConfigurationError);
    expect(() => store.occurrences("", { retentionMs: 1_000 })).toThrow(/election/);
    expect(() => store.occurrences("e", { retentionMs: 0 })).toThrow(/retentionMs/);
  });

  it("a value to publish that is too long", async () => {
    await expect(store.publish({} as Lease, "x".repeat(65_537), LIMITS)).rejects.toThrow(/value/);
  });

  it("a lease of another store", async () => {
    await expect(store.renew({ election: "e" } as Lease, LIMITS)).rejects.toThrow(
      "This lease of 'e' was not given out by this etcd store.",
    );
  });
});
