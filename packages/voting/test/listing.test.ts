/** A list of the elections that a majority of the servers knows, in virtual time. */
import { expect, test } from "vitest";
import type { ListedElection } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { VotingLeaseStore } from "../src/simulation.ts";
import { Cluster } from "./cluster.ts";

const REQUEST = { candidateId: "c", leaseDurationMs: 3_000, renewIntervalMs: 1_000, timeoutMs: 300 };

async function won(cluster: Cluster, name: string, election: string): Promise<Lease> {
  const store = new VotingLeaseStore(cluster.server(name));
  const outcome = await cluster.clock.runUntil(store.acquire({ ...REQUEST, election }));
  return outcome.acquired ? outcome.lease : expect.fail("It was not elected.");
}

async function listed(cluster: Cluster, name: string): Promise<readonly ListedElection[]> {
  const store = new VotingLeaseStore(cluster.server(name));
  return await cluster.clock.runUntil(Array.fromAsync(store.list("", { timeoutMs: 300 })));
}

test("a server that takes no part yet does not count: it may lack an election that is led", async () => {
  const cluster = new Cluster();
  await cluster.start();
  await won(cluster, "a", "other");
  const older = cluster.disks.get("b");
  cluster.away.add("c");
  await won(cluster, "a", "e");
  await cluster.server("b").close();
  cluster.disks.set("b", older);
  cluster.away.delete("c");
  cluster.away.add("a");
  cluster.startOne("b");
  await cluster.clock.advance(100);
  await expect(listed(cluster, "c")).rejects.toThrow("b does not take part yet.");
  cluster.away.clear();
  expect((await listed(cluster, "c")).map(({ election }) => election).toSorted()).toEqual(["e", "other"]);
});

test("an election that nobody has led since all servers were started again is unknown, with its last term", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { term } = await won(cluster, "a", "e");
  await Promise.all(cluster.names.map((name) => cluster.server(name).close()));
  await cluster.start();
  expect(await listed(cluster, "b")).toEqual([{ election: "e", state: "unknown", term }]);
});
