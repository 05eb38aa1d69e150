import { EtcdFailure, EtcdLeaseStore } from "@leasehold/etcd";
import { describe, expect, it } from "vitest";
import { header, scripted } from "./scripted.ts";

describe("a user with a password", () => {
  const refused = new EtcdFailure("etcdserver: invalid auth token", { status: 401, grpcCode: 16 });
  const store = (transport: ReturnType<typeof scripted>): EtcdLeaseStore =>
    new EtcdLeaseStore({ transport, user: "u", password: "p" });

  it("asks for a token once, and for another one where that is refused", async () => {
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

  it("asks no more than once where tokens are refused all the same", async () => {
    const transport = scripted((_, path) => {
      if (path === "/v3/auth/authenticate") return { ...header(1), token: "token" };
      throw refused;
    });
    await expect(store(transport).read("e")).rejects.toMatchObject({ code: "STORE_UNAUTHENTICATED" });
    expect(transport.requests).toHaveLength(4);
  });
});
