/** Tests members whose reads may show a write that a failover undoes. */
import { expect, test } from "vitest";
import type { LeaseRecord } from "@leasehold/core/provider";
import { ROSTER } from "../src/roster.ts";
import { ELECTION, LEASE_MS, nonceOf, versionOf, World, type Client, type Name } from "./world.ts";

const UNDURABLE = { showsUndurable: true };
const leadership = { election: ELECTION, term: 1, termId: "t" };
/** A request arrives, and its reply is lost. */
const UNANSWERED = { arrivals: [{ afterMs: 1 }] };

/** Makes a second write, whose replies from two members are lost. Returns the requests that it took. */
async function secondWrite(options: { readonly showsUndurable?: boolean }): Promise<readonly string[]> {
  const world = await World.founded(options);
  const one = world.open("one");
  const first = versionOf(await one.put("first"));
  await world.clock.advance(2_000);
  world.requests();
  let losing = 2;
  world.passage = ({ operation, to }) => (operation === "put" && to !== "a" && losing-- > 0 ? UNANSWERED : undefined);

  expect(await world.clock.runUntil(one.startPut("second", first))).toMatchObject({ stored: true });

  return world.requests().filter((request) => request.includes("put"));
}

test("a quorum says so if one of its members may show what is not durable", async () => {
  const durable = await World.founded();
  const undurable = await World.founded(UNDURABLE);

  expect(durable.open("one").store.capabilities.showsUndurable).toBeUndefined();
  expect(undurable.open("one").store.capabilities.showsUndurable).toBe(true);
});

test("a write that a majority shows counts on such members only after it is written again; on others at once", async () => {
  const writesOnDurable = await secondWrite({});
  const writesOnUndurable = await secondWrite(UNDURABLE);

  expect(writesOnDurable).toHaveLength(3);
  // One more promise and one more accept of each member.
  expect(writesOnUndurable.length).toBeGreaterThan(6);
});

test("a put does not report its write as refused because of a rival's accept that a failover undoes", async () => {
  const world = await World.founded(UNDURABLE);
  const [one, rival, third] = [world.open("one"), world.open("rival"), world.open("third")];
  const first = versionOf(await one.put("first"));
  await world.clock.advance(2_000);
  // The accept of `one` reaches b alone. The rival reaches a and c, and c does not acknowledge the rival's accept.
  let lost = 3;
  let rivalPuts = 0;
  world.passage = ({ by, operation, to }) => {
    if (by === "one" && operation === "put" && lost-- > 0) return to === "b" ? UNANSWERED : { arrivals: [] };
    if (by === "rival" && operation === "put" && to === "c" && ++rivalPuts === 2) world.services.c.cutOff();
    return to === "b" ? { arrivals: [] } : undefined;
  };
  const outcome = one.startPut("mine", first).catch((error: unknown) => error);
  await world.clock.advance(1);
  void rival.startPut("of the rival", first).catch(() => undefined);
  await world.clock.advance(1_500);
  expect(rivalPuts).toBeGreaterThanOrEqual(2);

  world.services.c.failOver(0);
  world.down.add("a");
  world.passage = () => undefined;

  expect(nonceOf(await third.get())).toBe("mine");
  expect(await outcome).toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: true });
});

test("a seal writes to a member that shows the leadership, unless the member has acknowledged it to this process", async () => {
  const world = await World.founded(UNDURABLE);
  const [one, other] = [world.open("one"), world.open("other")];
  await one.put("first");
  await world.clock.advance(LEASE_MS / 10);
  const writesOf = async (by: Client): Promise<number> => {
    world.requests();
    await world.clock.runUntil(by.store.seal(leadership, "c", { timeoutMs: 1_000 }));
    return world.requests().filter((request) => request.includes("put c")).length;
  };

  expect(await writesOf(one)).toBe(0);
  expect(await writesOf(other)).toBeGreaterThan(0);
});

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
  "a quorum begins although a member loses all that it has shown from its write %i on",
  async (writes) => {
    const world = new World(UNDURABLE);
    const one = world.open("one");
    let puts = 0;
    world.passage = ({ operation, to }) => {
      if (operation === "put" && to === "c" && puts++ === writes) world.services.c.cutOff();
      return undefined;
    };
    await one.put("first").catch(() => undefined);
    // Another process notes what the member shows.
    await world
      .open("two")
      .put("second")
      .catch(() => undefined);
    world.services.c.failOver(0);
    const three = world.open("three");
    let stored: unknown;
    for (let tries = 0; tries < 10 && stored === undefined; tries += 1) {
      await three.put(`try ${tries}`).catch(() => undefined);
      stored = await three.get().catch(() => undefined);
    }
    expect(stored).toBeDefined();
  },
);

const LOST = { arrivals: [] };

/** Returns the rounds of the roster that a member shows: promised, accepted, and c's promise as the member's writer knew it. */
function roundsAt(world: World, name: Name): { promised?: number; accepted?: number; seen?: number } | undefined {
  const { quorum } = (world.services[name].record(ROSTER) ?? {}) as Partial<LeaseRecord>;
  if (quorum === undefined) return undefined;
  const { promised, accepted, seen } = JSON.parse(quorum) as Record<string, { round: number; c?: { round: number } } | null>;
  return { promised: promised?.round, accepted: accepted?.round, seen: seen?.c?.round } as ReturnType<typeof roundsAt>;
}

/** A quorum whose only accepted roster is at c. The others have noted a later promise of c, which a failover has undone. */
async function withoutAPromise(): Promise<{ world: World; third: Client }> {
  const world = new World(UNDURABLE);
  let isOver = false;
  world.passage = ({ by, to, operation }) => {
    if (by === "third") return undefined;
    const isAccepted = roundsAt(world, "c")?.accepted !== undefined;
    if (isOver || (by === "one" && isAccepted)) return LOST;
    const haveAllPromised = (["a", "b", "c"] as const).every((name) => roundsAt(world, name) !== undefined);
    return by === "one" && operation === "put" && haveAllPromised && to !== "c" ? LOST : undefined;
  };
  await world
    .open("one")
    .put("first")
    .catch(() => undefined);
  world.services.c.cutOff();
  await world
    .open("two")
    .put("second")
    .catch(() => undefined);
  await world.clock.advance(2_000);
  isOver = true;
  world.services.c.failOver(0);
  expect(roundsAt(world, "c")?.accepted).toBeDefined();
  expect(roundsAt(world, "a")?.accepted).toBeUndefined();
  expect(roundsAt(world, "a")?.seen).toBeGreaterThan(roundsAt(world, "c")?.promised ?? 0);
  return { world, third: world.open("third") };
}

test("a quorum begins although the only member with its roster has lost a promise that the others have noted", async () => {
  const { third } = await withoutAPromise();
  await third.put("third").catch(() => undefined);
  expect(nonceOf(await third.get())).toBe("third");
});

test("the roster of a member that has lost a promise is not chosen while another member is silent", async () => {
  const { world, third } = await withoutAPromise();
  const { passage } = world;
  world.passage = (sent) => (sent.by === "third" && sent.to === "b" && sent.operation === "put" ? LOST : passage(sent));
  await third.put("third").catch(() => undefined);
  await world.clock.advance(30_000);
  expect(roundsAt(world, "a")?.accepted).toBeUndefined();
});
