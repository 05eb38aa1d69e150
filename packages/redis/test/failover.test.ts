/** A primary, a replica that follows it, and what a promotion loses. */
import { Elector } from "@leasehold/core";
import { RedisLeaseStore } from "@leasehold/redis";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { startTcpFaultProxy, type TcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { describe, expect } from "vitest";
import { CLIENTS, hasNoRedis, LIBRARIES, startServer, test as base, type Server } from "./redis-test.ts";

/** A primary and a replica of it, and the address at which clients find whichever is the primary. */
interface Pair extends Pick<Server, "port"> {
  readonly primary: Server;
  readonly replica: Server;
  readonly proxy: TcpFaultProxy;
  /** Lets the replica take over. Writes that it lacks are lost. */
  promote(): Promise<void>;
}

const test = base.extend("pair", async ({}, { onCleanup }): Promise<Pair> => {
  const started = new AsyncDisposableStack();
  onCleanup(() => started.disposeAsync());
  const stop = (server: Server): Promise<void> => server.stop();
  const primary = started.adopt(await startServer(["--repl-diskless-sync-delay", "0"]), stop);
  const replica = started.adopt(await startServer(["--replicaof", `127.0.0.1 ${primary.port}`]), stop);
  const proxy = started.use(await startTcpFaultProxy(primary.port));
  await expect.poll(() => replica.admin.info("replication")).toContain("master_link_status:up");
  return {
    primary,
    replica,
    proxy,
    port: proxy.port,
    async promote() {
      await replica.admin.replicaof("NO", "ONE");
      proxy.targetPort = replica.port;
      proxy.cut();
      proxy.heal();
    },
  };
});

/** Resolves once the replica has everything. */
async function caughtUp({ primary }: Pair): Promise<void> {
  await primary.admin.set("marker", "1");
  await expect(primary.admin.wait(1, 10_000)).resolves.toBe(1);
}

/** Cuts the replica off, so that a promotion loses every later write. */
async function cutOff({ replica }: Pair): Promise<void> {
  await replica.admin.config("SET", "masterauth", "not-the-password");
  await replica.admin.replicaof("127.0.0.1", "1");
}

describe.skipIf(hasNoRedis)("a failover", () => {
  test.for(LIBRARIES)("a replica answers nothing to %s, and grants nothing", async (library, { pair }) => {
    await using onPrimary = new RedisLeaseStore({ client: CLIENTS[library](pair.port) });
    const lease = await win(onPrimary);
    await caughtUp(pair);
    await using onReplica = new RedisLeaseStore({ client: CLIENTS[library](pair.replica.port) });
    for (const call of [() => onReplica.read(ELECTION), () => onReplica.acquire(acquiring())]) {
      expect(await failureOf(call())).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
    }
    // The present leader goes on after a promotion that has lost nothing.
    await pair.promote();
    await expect.poll(async () => await onPrimary.renew(lease, LIMITS).catch(() => undefined)).toMatchObject({ held: true });
    await expect(onReplica.read(ELECTION)).resolves.toMatchObject({ term: 1 });
  });

  test("no age counts that another server's clock began", async ({ pair }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS.ioredis(pair.port) });
    await win(store);
    await caughtUp(pair);
    await using cold = new RedisLeaseStore({ client: CLIENTS.ioredis(pair.port) });
    await expect(cold.read(ELECTION, { expiry: "store-clock" })).resolves.toMatchObject({ state: "held" });
    await pair.promote();
    await using colder = new RedisLeaseStore({ client: CLIENTS.ioredis(pair.port) });
    await expect.poll(async () => (await colder.read(ELECTION, { expiry: "store-clock" }))?.state).toBe("unknown");
  });

  test("a term that the failover lost is TERM_REGRESSED for the process that led it", async ({ pair }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS.ioredis(pair.port) });
    const first = new Elector({ store, election: ELECTION, logger: false });
    await using leadership = await first.campaign();
    await leadership[Symbol.asyncDispose]();
    await caughtUp(pair);
    await cutOff(pair);
    const again = new Elector({ store, election: ELECTION, logger: false, cooldownMs: 1 });
    const second = await again.campaign();
    expect(second.term).toBe(2);
    await pair.promote();
    await second[Symbol.asyncDispose]();

    const failed = new Promise((resolve) => void again.on("storeFailed", ({ error }) => resolve(error)));
    const stop = new AbortController();
    const campaigning = again.campaign({ signal: stop.signal });
    await expect(failed).resolves.toMatchObject({ code: "TERM_REGRESSED", foundTerm: 1, highestTermSeen: 2 });
    stop.abort();
    await expect(campaigning).rejects.toThrow("aborted");
    await store.repair(ELECTION, { minTerm: 1_000, leaseDurationMs: 1_000 });
    await expect(store.read(ELECTION)).resolves.toMatchObject({ term: 999 });
  });

  test("a guarded script of the term that was lost is refused", async ({ pair }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS.ioredis(pair.port) });
    await win(store).then((lease) => store.release(lease, LIMITS));
    await caughtUp(pair);
    await cutOff(pair);
    const { guard, key, value } = store.fenceScript(await win(store));
    await expect(pair.primary.admin.eval(guard, 1, key, value)).resolves.toBeNull();
    await pair.promote();
    await expect(pair.replica.admin.eval(guard, 1, key, value)).rejects.toThrow("LEASEHOLD_FENCED by term 1");
  });
});
