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

test("lists all elections while a server takes part in some only, and an election without a majority is unknown", async () => {
  const cluster = new Cluster();
  await cluster.start();
  const { term } = await cluster.wins("a", { ...REQUEST, election: "yearly", leaseDurationMs: 3_600_000 });
  await cluster.wins("a", { ...REQUEST, election: "e" });
  cluster.away.add("c");
  await cluster.server("b").close();
  cluster.startOne("b");
  await cluster.clock.advance(1_500);
  await expect(listed(cluster, "a")).rejects.toThrow("b does not take part yet.");
  await cluster.clock.advance(3_000);
  const lease = await cluster.wins("a", { ...REQUEST, election: "e" });
  const unknown = { election: "yearly", state: "unknown", term };
  expect(await listed(cluster, "a")).toMatchObject([unknown, { election: "e", state: "held", term: lease.term }]);
  cluster.away.delete("c");
  await cluster.clock.advance(1_500);
  const held = { election: "yearly", state: "held", term };
  expect(await listed(cluster, "b")).toMatchObject([held, { election: "e", state: "held", term: lease.term }]);
});
