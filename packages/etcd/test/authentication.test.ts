import { EtcdFailure, EtcdLeaseStore } from "@leasehold/etcd";
import { describe, expect, it } from "vitest";
import { authenticated } from "../src/authentication.ts";
import { header, scripted } from "./scripted.ts";

describe("a user with a password", () => {
  const refused = new EtcdFailure("etcdserver: invalid auth token", { status: 401, grpcCode: 16 });
  const store = (transport: ReturnType<typeof scripted>): EtcdLeaseStore =>
    new EtcdLeaseStore({ transport, user: "u", password: "p" });

  it("asks for a token once, and for another one if etcd refuses it", async () => {
    let tokens = 0;
    const transport = scripted((index, path) => {
      if (path === "/v3/auth/authenticate") return { ...header(1), token: `token ${(tokens += 1)}` };
      if (index === 3) throw refused;
      return header(1);
    });
    const one = store(transport);
    for (let reads = 0; reads < 3; reads += 1) await one.read("e");
    expect(transport.requests.map(({ path, token }) => [path.split("/").pop(), token])).toEqual([
      ["authenticate", undefined],
      ["txn", "token 1"],
      ["txn", "token 1"],
      ["txn", "token 1"],
      ["authenticate", undefined],
      ["txn", "token 2"],
    ]);
    expect(transport.requests[0]?.body).toEqual({ name: "u", password: "p" });
  });

  it("asks for another token if users or roles have changed since", async () => {
    const transport = scripted((index, path) => {
      if (path === "/v3/auth/authenticate") return { ...header(1), token: `token ${index}` };
      if (index === 1) throw new EtcdFailure("etcdserver: revision of auth store is old", { status: 400, grpcCode: 3 });
      return header(1);
    });
    await store(transport).read("e");
    expect(transport.requests.at(-1)?.token).toBe("token 2");
  });

  it.for([
    ["etcdserver: some other words", { status: 401, grpcCode: 16 }, 2],
    ["etcdserver: permission denied", { status: 403, grpcCode: 7 }, 1],
    ["etcdserver: no leader", { status: 503, grpcCode: 14 }, 1],
  ] as const)("asks for another one where a token is refused, and for nothing else: %s", async ([words, facts, asked]) => {
    let tokens = 0;
    const transport = scripted((index, path) => {
      if (path === "/v3/auth/authenticate") return { ...header(1), token: `token ${(tokens += 1)}` };
      if (index === 1) throw new EtcdFailure(words, facts);
      return header(1);
    });
    const one = store(transport);
    await one.read("e").catch(() => undefined);
    await one.read("e");
    expect(tokens).toBe(asked);
  });

  it("asks for another token for the next watch if a watch was refused", async () => {
    const tokens: unknown[] = [];
    const transport = scripted((index, path) => ({
      ...header(1),
      ...(path === "/v3/auth/authenticate" ? { token: `token ${index}` } : {}),
    }));
    // oxlint-disable-next-line eslint/require-yield -- it is refused
    transport.watch = async function* refusing(_, { token }) {
      tokens.push(token);
      throw refused;
    };
    const one = store(transport);
    for (let watches = 0; watches < 2; watches += 1) {
      const watch = one.watch("e", { signal: new AbortController().signal })[Symbol.asyncIterator]();
      await expect(watch.next()).rejects.toMatchObject({ code: "STORE_UNAUTHENTICATED" });
    }
    expect(tokens).toEqual(["token 0", "token 1"]);
  });

  it("asks once for all requests that need a token at one time, and again if that has failed", async () => {
    let tokens = 0;
    const transport = scripted((_, path) => {
      if (path !== "/v3/auth/authenticate") return header(1);
      if ((tokens += 1) === 1) throw new EtcdFailure("socket hang up", { status: 0, socketCode: "ECONNRESET" });
      return { ...header(1), token: "token" };
    });
    const one = store(transport);
    const reads = await Promise.allSettled(Array.from({ length: 20 }, async (_, n) => await one.read(`e${n}`)));
    expect(reads.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect(tokens).toBe(2);
  });

  it("asks for no token if another request has got one since its own was refused", async () => {
    let tokens = 0;
    const late = Promise.withResolvers<void>();
    const transport = scripted((_, path) =>
      path === "/v3/auth/authenticate" ? { ...header(1), token: `token ${(tokens += 1)}` } : header(1),
    );
    const call = transport.call.bind(transport);
    transport.call = async (path, body, options) => {
      const isLate = transport.requests.length === 2;
      const reply = await call(path, body, options);
      if (isLate) await late.promise;
      if (options.token === "token 1" && transport.requests.length > 2) throw refused;
      return reply;
    };
    const one = store(transport);
    await one.read("e");
    const slow = one.read("slow");
    await one.read("quick");
    expect(tokens).toBe(2);
    late.resolve();
    await slow;
    expect(tokens).toBe(2);
    expect(transport.requests.at(-1)?.token).toBe("token 2");
  });

  it("sends nothing for a caller that gave up while a token was on its way", async () => {
    const asked = Promise.withResolvers<void>();
    const transport = scripted((_, path) => (path === "/v3/auth/authenticate" ? { ...header(1), token: "token" } : header(1)));
    const call = transport.call.bind(transport);
    transport.call = async (path, body, options) => {
      if (path === "/v3/auth/authenticate") await asked.promise;
      return await call(path, body, options);
    };
    const one = store(transport);
    const stopping = new AbortController();
    const first = one.read("e");
    const second = one.read("given up", { signal: stopping.signal });
    stopping.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");
    asked.resolve();
    await first;
    await new Promise((resolve) => setImmediate(resolve));
    expect(transport.requests.map(({ path }) => path)).toEqual(["/v3/auth/authenticate", "/v3/kv/txn"]);
  });

  it("keeps its token if a watch fails for another reason", async () => {
    const tokens: unknown[] = [];
    const transport = scripted((index, path) => ({
      ...header(1),
      ...(path === "/v3/auth/authenticate" ? { token: `token ${index}` } : {}),
    }));
    // oxlint-disable-next-line eslint/require-yield -- it fails
    transport.watch = async function* failing(_, { token }) {
      tokens.push(token);
      throw new EtcdFailure("etcdserver: no leader", { status: 503, grpcCode: 14 });
    };
    const one = store(transport);
    for (let watches = 0; watches < 2; watches += 1) {
      const watch = one.watch("e", { signal: new AbortController().signal })[Symbol.asyncIterator]();
      await expect(watch.next()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    }
    expect(tokens).toEqual(["token 0", "token 0"]);
  });

  it("asks for its first token also for a watch", async () => {
    const transport = scripted(() => ({ ...header(1), token: "token" }));
    let token: unknown;
    // oxlint-disable-next-line eslint/require-yield -- it ends
    transport.watch = async function* ending(_, options) {
      await Promise.resolve();
      ({ token } = options);
    };
    const watch = authenticated(transport, { name: "u", password: "p" }).watch([], { signal: new AbortController().signal });
    for await (const message of watch) expect(message).toBeUndefined();
    expect(token).toBe("token");
  });

  it("asks only once more if the new token is refused, too", async () => {
    const transport = scripted((_, path) => {
      if (path === "/v3/auth/authenticate") return { ...header(1), token: "token" };
      throw refused;
    });
    await expect(store(transport).read("e")).rejects.toMatchObject({ code: "STORE_UNAUTHENTICATED" });
    expect(transport.requests).toHaveLength(4);
  });
});
