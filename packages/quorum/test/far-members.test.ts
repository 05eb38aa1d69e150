/** Tests a member that takes longer to connect to, or to answer, than a call gives each member. */
import { expect, test } from "vitest";
import { nonceOf, versionOf, World, write, ELECTION, type Client } from "./world.ts";

/** Each member has 250 ms of a call. A connection and a request take three round trips. */
const FAR_MS = 100;
/** Longer than 250 ms, also if the connection exists. */
const SLOW_MS = 300;
/** Each try of {@link persistently} takes a second at most. */
const TRIES = 12;

/** Calls until a call succeeds, as an elector does. */
async function persistently<T>(world: World, call: () => Promise<T>): Promise<T> {
  for (let times = 1; ; times += 1) {
    try {
      return await call();
    } catch (error) {
      if (times === TRIES) throw error;
      await world.clock.advance(1_000);
    }
  }
}

/** Polls as a standby does. */
async function poll(world: World, by: Client, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    await by.get(false);
    await world.clock.advance(2_000);
  }
}

test.each([
  { member: "needs three round trips to connect", roundTripMs: FAR_MS },
  { member: "never answers within its part of a call", roundTripMs: SLOW_MS },
])("a quorum begins with a third member that $member, and that member keeps what is written", async ({ roundTripMs }) => {
  const world = new World();
  world.roundTripMs.set("c", roundTripMs);
  const one = world.open("one");
  await persistently(world, () => one.put("first"));
  await write(world, one, ELECTION, 3);
  await world.clock.advance(5_000);

  expect(world.services.c.record(ELECTION)).toMatchObject({ nonce: "write 2" });
});

test("a standby that starts later counts on a member that needs three round trips to connect", async () => {
  const world = await World.founded();
  await write(world, world.open("founder"), ELECTION, 2);
  world.roundTripMs.set("c", FAR_MS);
  const standby = world.open("standby");
  await poll(world, standby, 4);
  world.down.add("b");

  expect(nonceOf(await standby.get(false))).toBe("write 1");
});

test("a slow member that was emptied is taken in, and another one may be down then", async () => {
  const world = await World.founded();
  await write(world, world.open("founder"), ELECTION, 2);
  world.empty("c");
  world.roundTripMs.set("c", SLOW_MS);
  const one = world.open("one");
  await write(world, one, ELECTION, 8);
  await world.clock.advance(5_000);
  world.down.add("b");
  // A call that gives each member a second.
  const { signal } = new AbortController();
  const found = one.store.get(ELECTION, { consistent: true, signal, timeoutMs: 4_000 });

  expect(nonceOf(await world.clock.runUntil(found))).toBe("write 7");
});

test("at most two reads of a hanging member continue past their time, and none for longer than three seconds", async () => {
  const world = await World.founded();
  world.roundTripMs.set("c", FAR_MS);
  world.down.add("c");
  const one = world.open("one");
  await poll(world, one, 20);
  const [connection] = world.connections;
  // These two reads, and the one of the present call.
  expect(connection?.mostUnderWay).toBe(3);
  await world.clock.advance(3_000);
  expect(connection?.underWay).toBe(0);
});

test("a call that ends before the quorum has begun names the silent members, and says that nothing is written", async () => {
  const world = new World();
  world.down.add("c");
  const one = world.open("one");

  await expect(one.put("first")).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    mayHaveBeenApplied: false,
    message: "A quorum begins with all of its members: c does not answer, so that nothing is written. Try again.",
  });
  world.down.delete("c");
  const outcome = await persistently(world, () => one.put("first"));
  expect(versionOf(outcome)).toBeDefined();
});
