/** Clients that the store uses itself: Valkey GLIDE, and Upstash's over its REST interface. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis as Upstash } from "@upstash/redis";
import { RedisLeaseStore } from "@leasehold/redis";
import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { failureOf } from "@leasehold/test-kit/failure";
import { GlideClient } from "@valkey/valkey-glide";
import { describe, expect, onTestFinished } from "vitest";
import { hasNoRedis, startServer, test, type Server } from "./redis-test.ts";
import { startUpstashFront, TOKEN } from "./upstash-front.ts";

async function glide(port: number, credentials?: { username: string; password: string }): Promise<GlideClient> {
  const addresses = [{ host: "127.0.0.1", port }];
  const client = await GlideClient.createClient({ addresses, requestTimeout: 10_000, ...(credentials ? { credentials } : {}) });
  onTestFinished(() => client.close());
  return client;
}

async function upstash(port: number, token = TOKEN): Promise<Upstash> {
  const front = await startUpstashFront(port);
  onTestFinished(() => front.stop());
  return new Upstash({ url: `http://127.0.0.1:${front.port}`, token, enableTelemetry: false });
}

const LENT: Readonly<Record<string, (port: number) => Promise<object>>> = { glide, upstash };
const SETTINGS_OF_MEMORY = [expect.stringContaining("appendonly is no")];

describe.skipIf(hasNoRedis)("a client that the store uses itself", () => {
  test.for(Object.keys(LENT))(
    "of %s is fenced, checked and listed, and is open after the store's end",
    async (library, { server, prefix }) => {
      const client = await LENT[library]!(server.port);
      const store = new RedisLeaseStore({ client, prefix });
      expect(store.capabilities.watch).toBe("poll");
      const lease = await win(store);
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
      const { guard, key, value } = store.fenceScript(lease);
      await expect(server.admin.eval(`${guard} return 1`, 1, key, value)).resolves.toBe(1);
      expect((await store.check({ election: ELECTION })).warnings).toEqual(SETTINGS_OF_MEMORY);
      expect(await Array.fromAsync(store.list(""))).toMatchObject([{ election: ELECTION, term: 1 }]);
      await store.close();
      await expect(store.read(ELECTION)).rejects.toThrow("was closed");
      await using next = new RedisLeaseStore({ client, prefix });
      expect(await next.read(ELECTION)).toMatchObject({ term: 1 });
    },
  );

  test.for(Object.keys(LENT))("of %s gives the server's refusals their codes", async (library, { prefix }) => {
    const own = await ownServer();
    await using store = new RedisLeaseStore({ client: await LENT[library]!(own.port), prefix });
    const lease = await win(store);
    await own.admin.config("SET", "min-replicas-to-write", "1");
    const error = await failureOf(store.renew(lease, LIMITS));
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
    expect(error.message).toContain("Fewer replicas than min-replicas-to-write are connected.");
    await own.admin.config("SET", "min-replicas-to-write", "0");
    await own.admin.script("FLUSH");
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("of glide says which rights are missing", async ({ server, prefix }) => {
    await server.admin.acl("SETUSER", "glide", "on", ">pw", "~*", "&*", "-@all", "+eval", "+evalsha", "+time", "+info", "+hmget");
    const client = await glide(server.port, { username: "glide", password: "pw" });
    await using store = new RedisLeaseStore({ client, prefix });
    const error = await failureOf(win(store));
    expect(error).toMatchObject({ code: "STORE_DENIED" });
    expect(error.message).toContain("Candidates need EVALSHA");
  });

  test("of glide that was closed is a failure in words", async ({ server, prefix }) => {
    const client = await glide(server.port);
    await using store = new RedisLeaseStore({ client, prefix });
    client.close();
    expect((await failureOf(store.read(ELECTION))).message).toMatch(/the client is closed/);
  });

  test("of upstash with a wrong token is a refusal that shows neither the token nor the command", async ({ server, prefix }) => {
    await using store = new RedisLeaseStore({ client: await upstash(server.port, "wrong-lamp"), prefix });
    const error = await failureOf(store.read(ELECTION));
    expect(error).toMatchObject({ code: "STORE_UNAUTHENTICATED" });
    expect(error.message).not.toMatch(/lamp|EVALSHA|command was/);
  });

  test("of upstash whose address is wrong is a failure with the reason", async ({ prefix }) => {
    const page = createServer((_, response) => void response.end("<html>a long page</html>")).listen(0, "127.0.0.1");
    await once(page, "listening");
    onTestFinished(() => page.close().closeAllConnections());
    const wrong = [
      [1, /bad port/],
      [await freePort(), /ECONNREFUSED/],
      [(page.address() as AddressInfo).port, /failed: the reply is not of Upstash's REST interface; check the client's url\.$/],
    ] as const;
    for (const [port, reason] of wrong) {
      const client = new Upstash({ url: `http://127.0.0.1:${port}`, token: TOKEN, enableTelemetry: false, retry: false });
      await using store = new RedisLeaseStore({ client, prefix });
      const error = await failureOf(store.read(ELECTION));
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(error.message).toMatch(reason);
    }
  });

  test("of upstash sends a request once, also if its reply is lost, because the second reply would hide the first", async ({
    prefix,
  }) => {
    let requests = 0;
    const deaf = createServer((request) => {
      requests += 1;
      request.socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(deaf, "listening");
    onTestFinished(() => void deaf.close());
    const { port } = deaf.address() as AddressInfo;
    const client = new Upstash({
      url: `http://127.0.0.1:${port}`,
      token: TOKEN,
      enableTelemetry: false,
      retry: { backoff: () => 0 },
    });
    await using store = new RedisLeaseStore({ client, prefix });
    expect(await failureOf(store.read(ELECTION))).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(requests).toBe(1);
  });
});

async function ownServer(): Promise<Server> {
  const server = await startServer();
  onTestFinished(() => server.stop());
  return server;
}
