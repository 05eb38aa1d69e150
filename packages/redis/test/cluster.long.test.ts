/** A real cluster of three servers, each with a third of the slots. */
import { RedisLeaseStore } from "@leasehold/redis";
import { LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { GlideClusterClient } from "@valkey/valkey-glide";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { describe, expect, onTestFinished } from "vitest";
import { CLIENTS, hasNoRedis, startServer, test as base, type Server } from "./redis-test.ts";

const SLOTS = 16_384;
const PARTS = 3;
/** Elections whose names lie on each of the three servers. */
const ELECTIONS = Array.from({ length: 12 }, (_, index) => `election-${index}`);

const CLUSTER_CLIENTS: Readonly<Record<string, (port: number) => object>> = {
  ioredis: (port) => new Cluster([{ host: "127.0.0.1", port }], { lazyConnect: true }),
  redis: (port) => createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] }),
};

const test = base.extend("nodes", { scope: "file" }, async ({}, { onCleanup }) => {
  const started = new AsyncDisposableStack();
  onCleanup(() => started.disposeAsync());
  const nodes: Server[] = [];
  for (let part = 0; part < PARTS; part += 1) {
    const node = await startServer(["--cluster-enabled", "yes", "--cluster-node-timeout", "60000"]);
    nodes.push(started.adopt(node, (one) => one.stop()));
    const [from, to] = [Math.ceil((SLOTS * part) / PARTS), Math.ceil((SLOTS * (part + 1)) / PARTS) - 1];
    await node.admin.cluster("ADDSLOTSRANGE", from, to);
  }
  for (const { port } of nodes.slice(1)) await nodes[0]!.admin.cluster("MEET", "127.0.0.1", port);
  for (const { admin } of nodes) {
    await expect.poll(() => admin.cluster("INFO")).toMatch(/cluster_state:ok[^]*cluster_known_nodes:3/);
  }
  return nodes;
});

describe.skipIf(hasNoRedis)("a cluster", () => {
  test.for(Object.keys(CLUSTER_CLIENTS))("%s leads, renews, fences and lists on every node", async (library, { nodes }) => {
    const prefix = `${library}:`;
    await using store = new RedisLeaseStore({ client: CLUSTER_CLIENTS[library]!(nodes[0]!.port), prefix });
    for (const election of ELECTIONS) {
      const lease = await win(store, { election });
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    }
    const counts = await Promise.all(nodes.map(({ admin }) => admin.dbsize()));
    expect(Math.min(...counts)).toBeGreaterThan(0);
    const listed = await Array.fromAsync(store.list("election-"));
    expect(listed.map(({ election }) => election).toSorted()).toEqual(ELECTIONS.toSorted());
    expect((await store.check({ election: "e" })).warnings).toEqual([
      expect.stringContaining("appendonly is no"),
      expect.stringContaining("a failover may undo"),
    ]);
  });

  test("a client of GLIDE leads, renews and lists on every node", async ({ nodes }) => {
    const addresses = [{ host: "127.0.0.1", port: nodes[0]!.port }];
    const client = await GlideClusterClient.createClient({ addresses, requestTimeout: 10_000 });
    onTestFinished(() => client.close());
    await using store = new RedisLeaseStore({ client, prefix: "glide:" });
    for (const election of ELECTIONS) {
      const lease = await win(store, { election });
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    }
    const listed = await Array.fromAsync(store.list("election-"));
    expect(listed.map(({ election }) => election).toSorted()).toEqual(ELECTIONS.toSorted());
    expect((await store.check({ election: "e" })).warnings).toEqual([
      expect.stringContaining("appendonly is no"),
      expect.stringContaining("a failover may undo"),
    ]);
  });

  test.for(Object.keys(CLUSTER_CLIENTS))("%s is woken by a release on every node", async (library, { nodes }) => {
    const prefix = `${library}-push:`;
    await using leader = new RedisLeaseStore({ client: CLUSTER_CLIENTS["ioredis"]!(nodes[0]!.port), prefix });
    await using standby = new RedisLeaseStore({ client: CLUSTER_CLIENTS[library]!(nodes[1]!.port), prefix });
    const stop = new AbortController();
    for (const election of ELECTIONS.slice(0, 6)) {
      const lease = await win(leader, { election });
      const watch = standby.watch!(election, { signal: stop.signal })[Symbol.asyncIterator]();
      await watch.next();
      const woken = watch.next();
      await leader.release(lease, LIMITS);
      await expect(woken).resolves.toMatchObject({ done: false });
      await watch.return!();
    }
    stop.abort();
  });

  test.for(Object.keys(CLUSTER_CLIENTS))(
    "%s follows an election whose slot moves to another node",
    async (library, { nodes }) => {
      const prefix = "moves:";
      await using store = new RedisLeaseStore({ client: CLUSTER_CLIENTS[library]!(nodes[0]!.port), prefix });
      // Each library has a slot of its own: a slot moves only with all of its keys.
      const lease = await win(store, { election: library });
      const key = `${prefix}{${library}}`;
      const slot = await nodes[0]!.admin.cluster("KEYSLOT", key);
      const holds = await Promise.all(
        nodes.map(async ({ admin }) => (await admin.cluster("GETKEYSINSLOT", slot, 10)).length > 0),
      );
      const from = nodes[holds.indexOf(true)]!;
      const to = nodes[holds.indexOf(false)]!;
      const [fromId, toId] = (await Promise.all([from, to].map(({ admin }) => admin.cluster("MYID")))) as [string, string];
      await to.admin.cluster("SETSLOT", slot, "IMPORTING", fromId);
      await from.admin.cluster("SETSLOT", slot, "MIGRATING", toId);
      // The slot is at both nodes now. A write of some keys is refused, and is tried again.
      await from.admin.call("MIGRATE", "127.0.0.1", to.port, key, 0, 5_000);
      const between = await store
        .renew(lease, { timeoutMs: 1_000 })
        .then(({ held }) => held)
        .catch((error: unknown) => (error as { readonly code: string }).code);
      // Which refusal it is depends on how often the client repeats the write before it gives up.
      expect([true, "STORE_CONFLICT", "STORE_TIMEOUT", "STORE_UNAVAILABLE"]).toContain(between);
      await from.admin.call("MIGRATE", "127.0.0.1", to.port, `${key}:fence`, 0, 5_000);
      for (const { admin } of [to, from]) await admin.cluster("SETSLOT", slot, "NODE", toId);
      await expect
        .poll(async () => await store.renew(lease, LIMITS).catch((error: unknown) => (error as { readonly code: string }).code))
        .toMatchObject({ held: true });
      await expect(to.admin.hget(key, "record")).resolves.toContain('"term":1');
    },
  );

  test("a client of one node is told to be a cluster client", async ({ nodes }) => {
    for (const client of [CLIENTS.ioredis(nodes[0]!.port), CLIENTS.redis(nodes[0]!.port)]) {
      await using store = new RedisLeaseStore({ client });
      const failures = await Promise.all(
        ELECTIONS.map(
          async (election) =>
            await store.read(election).then(
              () => undefined,
              (error: unknown) => error as Error,
            ),
        ),
      );
      expect(failures.find((error) => error !== undefined)).toMatchObject({
        code: "STORE_REJECTED",
        message: expect.stringContaining("give the store a cluster client"),
      });
    }
  });

  test("a cluster that is gone is a failure, and no request waits for it", async () => {
    const node = await startServer(["--cluster-enabled", "yes"]);
    await node.stop();
    for (const client of Object.values(CLUSTER_CLIENTS)) {
      await using store = new RedisLeaseStore({ client: client(node.port) });
      expect(await failureOf(store.read("e", { timeoutMs: 2_000 }))).toMatchObject({
        code: expect.stringMatching(/^STORE_(UNAVAILABLE|TIMEOUT)$/),
      });
    }
  });
});
