/** A list of servers that gets shorter, one server at a time, while a server leads. */
import { expect, test } from "vitest";
import { textOf } from "../src/voter-state-codec.ts";
import { Cluster } from "./cluster.ts";

const REQUEST = { election: "e", candidateId: "c", leaseDurationMs: 60_000, renewIntervalMs: 20_000, timeoutMs: 300 };

/** Starts servers again, with another list. */
async function move(cluster: Cluster, list: string, movers: string): Promise<void> {
  const names = list.split("");
  cluster.others = () => ({ names, isMoved: true });
  for (const name of movers.split("")) {
    await cluster.server(name).close();
    cluster.startOne(name);
  }
  await cluster.clock.advance(2_000);
}

test("a server that goes on to the next list knows what the list before the last one has decided", async () => {
  const cluster = new Cluster(5);
  await cluster.start();
  cluster.away.add("a").add("b");
  const last = await cluster.wins("e", REQUEST);
  cluster.away.clear();

  // The next list is without e, which goes on leading for its lease.
  await move(cluster, "abcd", "abcd");
  // The next list is without d, and c does not come back at once.
  await cluster.server("c").close();
  await move(cluster, "abc", "ab");
  const store = cluster.store("a");
  const early = await cluster.clock.runUntil(store.acquire(REQUEST).catch(() => undefined));
  expect(early).not.toMatchObject({ acquired: true });

  await cluster.clock.advance(REQUEST.leaseDurationMs + 2_000);
  const next = await cluster.clock.runUntil(store.acquire(REQUEST));
  expect(next).toMatchObject({ acquired: true, lease: { term: last.term + 1 } });
});

test.each([
  ["has dropped the election at a later term", { floor: 5 }],
  ["has voted in a later term, in vain", { elections: { e: { term: 5, votedFor: "t", leaseDurationMs: 1_000 } } }],
])("a lease of an earlier term may be valid, and blocks a server that %s", async (_, known) => {
  const cluster = new Cluster();
  const nothing = { writes: 1, seen: {}, floor: 0, clockFloor: 0, isFresh: false, elections: {} };
  for (const name of cluster.names) cluster.disks.set(name, textOf({ ...nothing, ...(name === "b" ? known : {}) }));
  await cluster.start();
  cluster.away.add("b");
  expect(await cluster.wins("c", REQUEST)).toMatchObject({ term: 1 });
  cluster.away.clear();

  // The next list is without c, which goes on leading for its lease. The list after it is without a.
  await move(cluster, "ab", "ab");
  await cluster.server("a").close();
  await move(cluster, "b", "b");
  const store = cluster.store("b");
  const early = await cluster.clock.runUntil(store.acquire(REQUEST).catch(() => undefined));
  expect(early).not.toMatchObject({ acquired: true });
  await cluster.clock.advance(REQUEST.leaseDurationMs);
  expect(await cluster.clock.runUntil(store.acquire(REQUEST))).toMatchObject({ acquired: true });
});

test("a server with another list waits until it and the reporting servers are a majority, and says so", async () => {
  const cluster = new Cluster(5);
  await cluster.start();
  const waits: string[] = [];
  const names = ["a", "b", "c", "d"];
  cluster.others = () => ({
    names,
    isMoved: true,
    troubles: { ends: () => undefined, tell: () => undefined, lasts: (_, words) => void waits.push(words) },
  });
  for (const name of ["a", "b"]) {
    await cluster.server(name).close();
    cluster.startOne(name);
  }
  await cluster.clock.advance(60_000);
  expect(cluster.server("a").takesPart).toBe(false);
  expect(waits.at(-1)).toBe(
    "it takes no part yet, since its list of servers has changed: it waits for more servers with the same list to report their state: 1.",
  );
  await cluster.server("c").close();
  cluster.startOne("c");
  await cluster.clock.advance(2_000);
  expect(["a", "b", "c"].map((name) => cluster.server(name).takesPart)).toEqual([true, true, true]);
});
