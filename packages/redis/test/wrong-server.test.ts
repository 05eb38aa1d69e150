/** Clients whose server is not the one that their owner meant. */
import { RedisLeaseStore } from "@leasehold/redis";
import { ELECTION } from "@leasehold/test-kit/acquisitions";
import { failureOf } from "@leasehold/test-kit/failure";
import { Cluster, Redis } from "ioredis";
import { createClient, createCluster } from "redis";
import { describe, expect } from "vitest";
import { hasNoRedis, LIBRARIES, startServer, test as base } from "./redis-test.ts";

const test = base.extend("half", { scope: "file" }, async ({}, { onCleanup }) => {
  const server = await startServer(["--cluster-enabled", "yes"]);
  onCleanup(() => server.stop());
  await server.admin.cluster("ADDSLOTSRANGE", 0, 8_000);
  return server;
});

const CLIENTS_OF: Readonly<Record<"ioredis" | "redis", (url: string) => object>> = {
  ioredis: (url) => silent(new Redis(url, { lazyConnect: true })),
  redis: (url) => silent(createClient({ url })),
};
const CLUSTERS: Readonly<Record<"ioredis" | "redis", (port: number) => object>> = {
  ioredis: (port) => silent(new Cluster([{ host: "127.0.0.1", port }], { lazyConnect: true })),
  redis: (port) => silent(createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] })),
};

describe.skipIf(hasNoRedis)("the wrong server", () => {
  test.for(LIBRARIES)("a database that does not exist is refused, and no other is used (%s)", async (library, { server }) => {
    await using store = new RedisLeaseStore({ client: CLIENTS_OF[library](`redis://127.0.0.1:${server.port}/99`) });
    const error = await failureOf(store.read(ELECTION));
    expect(error).toMatchObject({ code: "STORE_REJECTED" });
    expect(error.message).toContain("DB index is out of range");
  });

  test.for(LIBRARIES)("an account that may not select its database is refused (%s)", async (library, { server }) => {
    await server.admin.acl("SETUSER", "confined", "on", ">pw", "~*", "&*", "+@all", "-select");
    await using store = new RedisLeaseStore({ client: CLIENTS_OF[library](`redis://confined:pw@127.0.0.1:${server.port}/3`) });
    const error = await failureOf(store.read(ELECTION));
    expect(error).toMatchObject({ code: "STORE_DENIED" });
    expect(error.message).toContain("'select'");
  });

  test.for(LIBRARIES)("a cluster client of a server that is in no cluster says so (%s)", async (library, { server }) => {
    await using store = new RedisLeaseStore({ client: CLUSTERS[library](server.port) });
    const error = await failureOf(store.read(ELECTION));
    expect(error.message).toContain("cluster support disabled");
  });

  test.for(LIBRARIES)("a cluster without a server for a slot is a failure in words (%s)", async (library, { half }) => {
    await using store = new RedisLeaseStore({ client: CLUSTERS[library](half.port) });
    for (const election of ["a", "b", "c", "d"]) {
      const error = await failureOf(store.read(election));
      expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
      expect(error.message).toContain("CLUSTERDOWN");
    }
  });
});

/** A client without a listener for errors would end the process. */
function silent<Client extends { on(event: "error", listener: () => void): unknown }>(client: Client): Client {
  client.on("error", () => undefined);
  return client;
}
