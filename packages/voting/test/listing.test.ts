/** A list of the elections that a majority of the servers knows, in virtual time. */
import { expect, test } from "vitest";
import type { ListedElection } from "@leasehold/core";
import { Cluster } from "./cluster.ts";

const REQUEST = { candidateId: "c", leaseDurationMs: 3_000, renewIntervalMs: 1_000, timeoutMs: 300 };

async function listed(cluster: Cluster, name: string): Promise<readonly ListedElection[]> {
  return await cluster.clock.runUntil(Array.fromAsync(cluster.store(name).list()));
}

test("a server that takes no part yet does not count: it may lack an election that is led", async () => {
  const cluster = new Cluster();
  await cluster.start();
  await cluster.wins("a", { ...REQUEST, election: "other" });
  const older = cluster.disks.get("b");
  cluster.away.add("c");
  await cluster.wins("a", { ...REQUEST, election: "e" });
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
  const { term } = await cluster.wins("a", { ...REQUEST, election: "e" });
  await Promise.all(cluster.names.map((name) => cluster.server(name).close()));
  await cluster.start();
  expect(await listed(cluster, "b")).toEqual([{ election: "e", state: "unknown", term }]);
});
