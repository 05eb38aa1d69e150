/** A write is sent at once, or not at all; a server refuses one that was held back for longer than its caller waited. */
import { isLeaseholdError } from "@leasehold/core";
import { RedisLeaseStore } from "@leasehold/redis";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { startTcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { Redis } from "ioredis";
import { describe, expect } from "vitest";
import { driverOf } from "../src/drivers/open-driver.ts";
import { WRITE } from "../src/scripts.ts";
import { CLIENTS, hasNoRedis, LIBRARIES, startServer, test, type Server } from "./redis-test.ts";

async function serverMs({ admin }: Server): Promise<number> {
  const [seconds, micros] = await admin.time();
  return Number(seconds) * 1_000 + Number(micros) / 1_000;
}

describe.skipIf(hasNoRedis)("late writes", () => {
  test("a write that a network delivers after its caller's time does nothing", async ({ server, prefix, open }) => {
    await using proxy = await startTcpFaultProxy(server.port);
    const store = open("ioredis", proxy.port);
    const lease = await win(store);
    const key = `${prefix}{${ELECTION}}`;
    const before = await server.admin.hgetall(key);

    const release = proxy.holdRequests();
    const failure = await failureOf(store.renew(lease, { timeoutMs: 300 }));
    expect(failure).toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: true });
    // The server's own clock has to pass the deadline, which is later by the time of a request at most.
    const failedMs = await serverMs(server);
    await expect.poll(() => serverMs(server)).toBeGreaterThan(failedMs + 2_000);
    release();
    await proxy.waitForBytes();
    await server.admin.ping();
    await expect.poll(async () => (await open().read(ELECTION))?.state).toBe("unknown");
    expect(await server.admin.hgetall(key)).toEqual(before);
  });

  test.for(LIBRARIES)("%s sends nothing of a request that failed while no server was there", async (library, { prefix }) => {
    const first = await startServer();
    await using proxy = await startTcpFaultProxy(first.port);
    await using store = new RedisLeaseStore({ client: CLIENTS[library](proxy.port), prefix });
    const lease = await win(store);
    await first.stop();
    proxy.cut();
    const failures = await Promise.all([1, 2, 3].map(() => failureOf(store.renew(lease, LIMITS))));
    for (const { code } of failures) expect(code).toMatch(/^STORE_(UNAVAILABLE|TIMEOUT)$/);

    const second = await startServer();
    const seen: string[][] = [];
    // ioredis takes a line of the monitor for a reply if another connection begins at the same time.
    await second.admin.ping();
    const monitor = await second.admin.monitor();
    monitor.on("monitor", (_, command: string[]) => seen.push(command));
    proxy.targetPort = second.port;
    proxy.heal();
    // The next request finds a new connection, and the new server gets reads alone.
    await expect(store.read(ELECTION)).resolves.toBeUndefined();
    await second.admin.ping();
    await expect.poll(() => seen.some(([command]) => command?.toLowerCase() === "ping")).toBe(true);
    const scripts = seen.filter(([command]) => /^eval/i.test(command ?? "")).map(([, script]) => script);
    expect(scripts.length).toBeGreaterThan(0);
    expect(scripts.filter((script = "") => script === WRITE.sha || script.includes("ARGV[6]"))).toEqual([]);
    monitor.disconnect();
    await second.stop();
  });

  test.for(LIBRARIES)(
    "a connection of %s that is lost rejects what it is given, and does not come back",
    async (library, { server }) => {
      await using proxy = await startTcpFaultProxy(server.port);
      const connection = driverOf(CLIENTS[library](proxy.port)).open({ ended: () => undefined, message: () => undefined });
      await connection.ready;
      const { signal } = new AbortController();
      await expect(connection.send("k", ["PING"], signal)).resolves.toBe("PONG");
      proxy.cut();
      const sent = connection.send("k", ["PING"], signal);
      proxy.heal();
      await expect(sent).rejects.toThrow(/clos|writeable|ECONN|EPIPE/i);
      await expect(connection.send("k", ["PING"], signal)).rejects.toThrow(/clos|writeable/i);
      connection.close();
    },
  );

  test("a write on a server whose time is not known yet is sent twice, and done once", async ({ server, open, prefix }) => {
    const store = open();
    await expect(store.acquire(acquiring({ election: "cold" }))).resolves.toMatchObject({ acquired: true, lease: { term: 1 } });
    await expect(server.admin.hget(`${prefix}{cold}`, "record")).resolves.toContain('"term":1');
  });

  test("a server that has forgotten the scripts gets them again", async ({ server, open }) => {
    const store = open();
    const lease = await win(store);
    await server.admin.script("FLUSH");
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
  });

  test("a connection that is lost while idle is replaced at the next request", async ({ server, open }) => {
    const store = open();
    const lease = await win(store);
    await server.admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await expect
      .poll(async () => await store.renew(lease, LIMITS).catch((error: unknown) => isLeaseholdError(error)))
      .toMatchObject({ held: true });
  });

  test("the user's own client is left as it is", async ({ server }) => {
    const client = new Redis(server.port, "127.0.0.1", { lazyConnect: true, keyPrefix: "mine:" });
    await using store = new RedisLeaseStore({ client });
    await win(store, { election: "prefixed" });
    expect(client.status).toBe("wait");
    await expect(server.admin.exists("leasehold:{prefixed}")).resolves.toBe(1);
  });
});
