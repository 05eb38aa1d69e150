import type { StoreError, StoreErrorCode } from "@leasehold/core";
import { EtcdFailure, EtcdLeaseStore } from "@leasehold/etcd";
import type { EtcdFailureFacts } from "../src/transport.ts";
import { describe, expect, it } from "vitest";
import { header, scripted } from "./scripted.ts";

const REQUEST = { election: "e", candidateId: "c", leaseDurationMs: 5_000, renewIntervalMs: 1_000, timeoutMs: 1_000 };

interface Failing {
  readonly words: string;
  readonly facts: EtcdFailureFacts;
  readonly code: StoreErrorCode;
  /** The value for a write that fails in this way. */
  readonly mayHaveBeenApplied: boolean;
  readonly advice?: RegExp;
}

const etcdSays = (grpcCode: number, status: number): EtcdFailureFacts => ({ grpcCode, status });
const socketSays = (socketCode: string): EtcdFailureFacts => ({ socketCode, status: 0 });

/** The messages of etcd 3.4.23 and of Node. */
const FAILURES: readonly Failing[] = [
  { words: "etcdserver: request timed out", facts: etcdSays(14, 503), code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true },
  { words: "etcdserver: no leader", facts: etcdSays(14, 503), code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true },
  { words: "context deadline exceeded", facts: etcdSays(4, 504), code: "STORE_TIMEOUT", mayHaveBeenApplied: true },
  { words: "something unheard of", facts: etcdSays(2, 500), code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true },
  { words: "etcdserver: too many requests", facts: etcdSays(8, 429), code: "STORE_THROTTLED", mayHaveBeenApplied: false },
  {
    words: "etcdserver: mvcc: database space exceeded",
    facts: etcdSays(8, 429),
    code: "STORE_REJECTED",
    mayHaveBeenApplied: false,
    advice: /Compact and defragment/,
  },
  {
    words: "etcdserver: permission denied",
    facts: etcdSays(7, 403),
    code: "STORE_DENIED",
    mayHaveBeenApplied: false,
    advice: /those below \.leasehold/,
  },
  {
    words: "etcdserver: invalid auth token",
    facts: etcdSays(16, 401),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /user and password/,
  },
  {
    words: "etcdserver: some other words",
    facts: etcdSays(16, 401),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /user and password/,
  },
  {
    words: "etcdserver: user name is empty",
    facts: etcdSays(3, 400),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /authentication is on/,
  },
  {
    words: "etcdserver: authentication failed, invalid user ID or password",
    facts: etcdSays(3, 400),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /user and password/,
  },
  {
    words: "etcdserver: authentication is not enabled",
    facts: etcdSays(9, 400),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /Leave user and password out/,
  },
  { words: "etcdserver: requested lease not found", facts: etcdSays(5, 404), code: "STORE_CONFLICT", mayHaveBeenApplied: false },
  { words: "some other aborted thing", facts: etcdSays(10, 409), code: "STORE_CONFLICT", mayHaveBeenApplied: true },
  { words: "etcdserver: some precondition", facts: etcdSays(9, 400), code: "STORE_REJECTED", mayHaveBeenApplied: false },
  { words: "etcdserver: not leader", facts: etcdSays(9, 400), code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false },
  {
    words: "etcdserver: mvcc: required revision is a future revision",
    facts: etcdSays(11, 400),
    code: "STORE_REJECTED",
    mayHaveBeenApplied: false,
  },
  { words: "etcdserver: role not found", facts: etcdSays(5, 404), code: "STORE_MISSING", mayHaveBeenApplied: false },
  {
    words: "etcdserver: revision of auth store is old",
    facts: etcdSays(3, 400),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /user and password/,
  },
  { words: "etcdserver: request is too large", facts: etcdSays(3, 400), code: "STORE_REJECTED", mayHaveBeenApplied: false },
  { words: "Method Not Allowed", facts: etcdSays(12, 501), code: "STORE_REJECTED", mayHaveBeenApplied: false },
  { words: "HTTP 404", facts: { status: 404 }, code: "STORE_MISSING", mayHaveBeenApplied: true, advice: /--enable-grpc-gateway/ },
  {
    words: "HTTP 400",
    facts: { status: 400 },
    code: "STORE_UNAVAILABLE",
    mayHaveBeenApplied: true,
    advice: /https: rather than http:/,
  },
  {
    words: "HTTP 401",
    facts: { status: 401 },
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: true,
    advice: /user and password/,
  },
  { words: "HTTP 502", facts: { status: 502 }, code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true },
  { words: "connect ECONNREFUSED", facts: socketSays("ECONNREFUSED"), code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false },
  { words: "socket hang up", facts: socketSays("ECONNRESET"), code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true },
  {
    words: "self-signed certificate",
    facts: socketSays("DEPTH_ZERO_SELF_SIGNED_CERT"),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /tls\.ca/,
  },
  {
    words: "alert certificate required",
    facts: socketSays("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /tls\.cert/,
  },
  {
    words: "unable to get local issuer certificate",
    facts: socketSays("UNABLE_TO_GET_ISSUER_CERT_LOCALLY"),
    code: "STORE_UNAUTHENTICATED",
    mayHaveBeenApplied: false,
    advice: /tls\.ca/,
  },
  { words: "write EPROTO", facts: socketSays("EPROTO"), code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true, advice: /http:/ },
  {
    words: "wrong version number",
    facts: socketSays("ERR_SSL_WRONG_VERSION_NUMBER"),
    code: "STORE_UNAVAILABLE",
    mayHaveBeenApplied: true,
    advice: /http: rather than https:/,
  },
];

describe("a failure of etcd's", () => {
  it.each(FAILURES)("'$words' ($facts) is $code", async ({ words, facts, code, mayHaveBeenApplied, advice }) => {
    const transport = scripted((index) => {
      if (index !== 1) return header(7);
      throw new EtcdFailure(words, facts);
    });
    // The read succeeds, and the grant fails. After an unknown outcome of the grant the transaction is tried.
    const error = await failureOf(new EtcdLeaseStore({ transport: oneGrantOnly(transport) }).acquire(REQUEST));
    expect(error).toMatchObject({ code, mayHaveBeenApplied, store: "etcd", operation: "grant", election: "e" });
    const said = `etcd: 'grant' of 'e' failed: ${words}.`;
    if (advice) expect(error.message.slice(said.length)).toMatch(advice);
    else expect(error.message).toBe(said);
    expect(error.message.startsWith(said)).toBe(true);
    const reading = await failureOf(
      new EtcdLeaseStore({
        transport: scripted(() => {
          throw new EtcdFailure(words, facts);
        }),
      }).read("e"),
    );
    expect(reading).toMatchObject({ code, mayHaveBeenApplied: false, operation: "read" });
  });

  it("may be any error of a custom transport", async () => {
    const transport = scripted(() => {
      throw new RangeError("out of something");
    });
    expect(await failureOf(new EtcdLeaseStore({ transport }).read("e"))).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "etcd: 'read' of 'e' failed: RangeError: out of something.",
      cause: { name: "EtcdFailure", status: 0, grpcCode: undefined, socketCode: undefined },
    });
  });

  it("is also a success without etcd's header, such as a captive portal's", async () => {
    const error = await failureOf(new EtcdLeaseStore({ transport: scripted(() => ({ welcome: "to the hotel" })) }).read("e"));
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(error.message).toMatch(/does not come from etcd/);
  });

  it.each([
    // The error as etcd 3.4 sends it, as later versions do, and in an unknown form.
    [
      { grpc_code: 7, http_code: 403, message: "etcdserver: permission denied" },
      "STORE_DENIED",
      /: etcdserver: permission denied\./,
    ],
    [{ code: 7, message: "etcdserver: permission denied" }, "STORE_DENIED", /: etcdserver: permission denied\./],
    [{ code: "7", message: 5 }, "STORE_UNAVAILABLE", /: the stream has ended with an error\./],
    [null, "STORE_UNAVAILABLE", /: the stream has ended with an error\./],
  ])("may be in the first line of a stream: %j", async (said, code, message) => {
    const error = await failureOf(new EtcdLeaseStore({ transport: scripted(() => ({ error: said })) }).read("e"));
    expect(error).toMatchObject({ code, message, cause: { status: 200 } });
  });

  it("is a grant of a shorter lease than was asked for", async () => {
    const transport = scripted((_, path) => (path === "/v3/lease/grant" ? { ...header(7), ID: "1", TTL: "4" } : header(7)));
    expect(await failureOf(new EtcdLeaseStore({ transport }).acquire(REQUEST))).toMatchObject({ code: "STORE_REJECTED" });
  });

  it("is a write that was carried out although its condition cannot hold", async () => {
    const transport = scripted((index) => ({ ...header(7), succeeded: index === 1 }));
    await expect(new EtcdLeaseStore({ transport }).check({ election: "e" })).rejects.toMatchObject({ code: "CONFIGURATION" });
  });
});

/** Returns a transport whose grant fails. A transaction after it finds no lease, as if the grant had not arrived. */
function oneGrantOnly(transport: ReturnType<typeof scripted>): ReturnType<typeof scripted> {
  const call = transport.call.bind(transport);
  transport.call = async (path, body, options) => {
    const reply = await call(path, body, options);
    if (transport.requests.length <= 2) return reply;
    throw new EtcdFailure("etcdserver: requested lease not found", { status: 404, grpcCode: 5 });
  };
  return transport;
}

async function failureOf(call: Promise<unknown>): Promise<StoreError> {
  return await call.then(
    () => Promise.reject(new Error("it did not fail")),
    (error: unknown) => error as StoreError,
  );
}
