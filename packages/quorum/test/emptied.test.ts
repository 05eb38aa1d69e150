/** Tests a store that was emptied, and its answers until it is taken in again. */
import { SimulatedRecordService } from "@leasehold/core/testing";
import type { LeaseRecord } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { MARKER, ROSTER } from "../src/roster.ts";
import { ELECTION, nonceOf, OTHER_ELECTION, World, write, type Name } from "./world.ts";

/**
 * Leaves c emptied, after a and c have accepted a record that b has missed. An earlier promise to c arrives three seconds later.
 */
async function emptiedBeforeAPromise(world: World): Promise<void> {
  const [one, slow] = [world.open("one"), world.open("slow")];
  world.passage = ({ by, to, operation }) => {
    if (by !== "slow" || operation !== "put") return undefined;
    return { arrivals: to === "c" ? [{ afterMs: 3_000 }] : [] };
  };
  const late = slow.startPut("late").catch(() => undefined);
  await world.clock.advance(20);
  world.down.add("b");
  await one.put("first");
  world.down.delete("b");
  world.empty("c");
  await world.clock.runUntil(late);
}

test("an emptied store is taken in again, and then any other member may be down, for new processes too", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  world.empty("c");
  await write(world, one, ELECTION, 4);
  for (const away of ["a", "b"] as const) {
    world.down.add(away);
    const other = world.open(`without ${away}`);
    expect(nonceOf(await other.get())).toBe("write 3");
    world.down.delete(away);
  }
  world.down.add("a");
  await write(world, world.open("last"), ELECTION, 1);
});

test("a missing record at a store that was taken in again proves nothing, because others may have it", async () => {
  const world = await World.founded();
  const [one, other] = [world.open("one"), world.open("other")];
  // All but b know of the election.
  world.down.add("b");
  await one.put("first");
  world.down.delete("b");
  world.empty("c");
  await write(world, other, OTHER_ELECTION, 4);
  world.down.add("a");

  const third = world.open("third");
  await expect(third.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await expect(third.put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
  world.down.delete("a");
  expect(nonceOf(await third.get())).toBe("first");
});

test("a missing record at an emptied store proves nothing before any process has noticed the loss", async () => {
  const world = await World.founded();
  const [one, other] = [world.open("one"), world.open("other")];
  await other.get();
  world.down.add("b");
  await one.put("first");
  world.down.delete("b");
  world.empty("c");
  world.down.add("a");

  await expect(other.put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
});

test("a promise that arrives at a store after it was emptied proves nothing to a process that knew the store", async () => {
  const world = await World.founded();
  const other = world.open("other");
  await other.get();
  await emptiedBeforeAPromise(world);
  await world.clock.advance(4_000);
  expect(world.services.c.record(ELECTION)).toMatchObject({ termId: null });
  world.down.add("a");

  await expect(other.put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
});

test("a read of a marker that began before the store was emptied does not overrule a read that began later", async () => {
  const world = await World.founded();
  const other = world.open("other");
  await other.get();
  // All but b know of the election.
  world.down.add("b");
  await world.open("one").put("first");
  world.down.delete("b");
  const signal = new AbortController().signal;
  let getsOfC = 0;
  // The second request to c is for the roster, and the third one for the marker.
  world.passage = ({ to }) =>
    to === "c" && (getsOfC += 1) === 3 ? { arrivals: [{ afterMs: 1, replyAfterMs: 300 }] } : undefined;
  const slow = other.store.get("a third one", { consistent: true, signal, timeoutMs: 4_000 });
  await world.clock.advance(10);
  world.empty("c");
  world.passage = ({ to }) => (to === "b" ? { arrivals: [{ afterMs: 1, replyAfterMs: 400 }] } : undefined);
  world.down.add("a");
  const fork = other.startPut("fork", undefined, 4_000);

  await expect(world.clock.runUntil(fork)).rejects.toMatchObject({ mayHaveBeenApplied: false });
  await expect(slow).resolves.toBeUndefined();
});

test("a read of a roster that began earlier does not overrule a read that began later", async () => {
  const world = await World.founded();
  const other = world.open("other");
  await write(world, other, ELECTION, 2);
  const signal = new AbortController().signal;
  let getsOfB = 0;
  world.passage = ({ by, to }) =>
    by === "other" && to === "b" && (getsOfB += 1) === 2 ? { arrivals: [{ afterMs: 1, replyAfterMs: 30_000 }] } : undefined;
  const slow = other.store.get("a third one", { consistent: true, signal, timeoutMs: 200_000 });
  await world.clock.advance(10);
  await write(world, world.open("renewed", { c: new SimulatedRecordService(world.clock) }), OTHER_ELECTION, 4);
  await other.get(true, "a fourth one");
  await world.clock.runUntil(slow);
  const version = (await other.get())?.version;
  world.requests();
  await other.put("next", version);
  await world.clock.advance(2_000);

  // The process reads, prepares and writes, because its lease is over. If it took b's roster for the former one, it would write
  // the roster there.
  expect(world.requests().filter((request) => request.endsWith("b"))).toEqual(["other get b", "other put b", "other put b"]);
});

test("a late duplicate of the marker's write does not make an emptied store pass for untouched", async () => {
  const world = new World();
  // Each write to c during the founding arrives again, in order, a minute later.
  world.passage = ({ to, operation }) =>
    to === "c" && operation === "put" ? { arrivals: [{ afterMs: 1, replyAfterMs: 1 }, { afterMs: 60_000 }] } : undefined;
  const [one, other] = [world.open("one"), world.open("other")];
  await one.put("any", undefined, OTHER_ELECTION);
  world.passage = () => undefined;
  await other.get();
  // All but b know of the election.
  world.down.add("b");
  await one.put("first");
  world.down.delete("b");
  world.empty("c");
  await world.clock.advance(61_000);
  world.down.add("a");

  await expect(other.put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
  world.down.delete("a");
  await write(world, one, OTHER_ELECTION, 3);
  await write(world, one, ELECTION, 3);
  world.down.add("a");
  expect(nonceOf(await world.open("third").get())).toBe("write 2");
});

test("a store is taken in if the process that wrote its marker stopped before it wrote the roster", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  const marker = world.services.c.record(MARKER) as LeaseRecord;
  const note = JSON.parse(marker.quorum ?? "") as Record<string, unknown>;
  world.empty("c");
  world.services.c.overwrite(MARKER, { ...marker, quorum: JSON.stringify({ ...note, write: "a new one" }) });
  await write(world, one, ELECTION, 4);
  world.down.add("a");

  expect(nonceOf(await world.open("other").get())).toBe("write 3");
});

test("a write that was sent to a store before it was taken in again, and arrives later, does not count", async () => {
  const world = await World.founded();
  const other = world.open("other");
  await emptiedBeforeAPromise(world);
  await write(world, other, OTHER_ELECTION, 4);
  expect(world.services.c.record(ELECTION)).toMatchObject({ termId: null });
  world.down.add("a");

  await expect(world.open("third").put("fork")).rejects.toMatchObject({ mayHaveBeenApplied: false });
});

test("a new election begins although every store was replaced", async () => {
  const world = await World.founded();
  const one = world.open("one");
  for (const name of ["a", "b", "c"] as const satisfies readonly Name[]) {
    await write(world, one, OTHER_ELECTION, 3);
    world.empty(name);
    await write(world, one, OTHER_ELECTION, 3);
    await world.clock.advance(10_000);
    await write(world, one, OTHER_ELECTION, 2);
  }

  expect(await one.put("first")).toMatchObject({ stored: true });
});

test("a store is taken in also if no write can succeed before", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, OTHER_ELECTION, 1);
  world.empty("b");
  await write(world, one, OTHER_ELECTION, 8);
  world.empty("c");

  // b has no record of the election, which proves nothing: all members must answer. A writer reads first.
  await expect(one.get()).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
  await world.clock.advance(2_000);
  expect(await one.put("first")).toMatchObject({ stored: true });
});

test("an emptied store is taken in at the first attempt, although its writes take longer than a call waits", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 1);
  world.empty("c");
  world.passage = ({ to, operation }) =>
    to === "c" && operation === "put" ? { arrivals: [{ afterMs: 200, replyAfterMs: 200 }] } : undefined;
  await write(world, one, ELECTION, 1);
  await world.clock.advance(5_000);

  expect(world.services.c.record(ROSTER)).toBeDefined();
});

test("an error names a member that has forgotten its promise, if there is no majority without it", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  const backup = world.backup("c");
  await write(world, one, ELECTION, 2);
  world.restore("c", backup);
  world.down.add("b");

  await expect(world.open("other").get()).rejects.toMatchObject({
    message: expect.stringContaining(
      "c: it has forgotten what it had promised, and counts again once the others have written it",
    ),
  });
});

test("a read asks a member that is known to have forgotten only once, so that a slow one leaves time for the rest", async () => {
  const world = await World.founded();
  const one = world.open("one");
  await write(world, one, ELECTION, 2);
  const backup = world.backup("c");
  await write(world, one, ELECTION, 2);
  await one.get();
  world.restore("c", backup);
  world.requests();

  expect(nonceOf(await one.get())).toBe("write 1");
  expect(world.requests().toSorted()).toEqual(["one get a", "one get b", "one get c"]);
  // A process that learns of the loss by the same read has asked c too early.
  const other = world.open("other");
  await other.get(true, OTHER_ELECTION);
  world.requests();
  await other.get();
  expect(world.requests().filter((request) => request === "other get c")).toHaveLength(2);
});
