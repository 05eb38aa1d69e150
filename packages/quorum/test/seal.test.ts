/** Tests the fences of members. They follow the ballots. After a seal a member's fence is that of the leadership. */
import { MemoryRecordStore, type Fence, type LeaseRecord, type PutOptions } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { QuorumRecordStore } from "../src/quorum-record-store.ts";
import { begun, ELECTION, recordOf, versionOf, World, type Client } from "./world.ts";

const leadership = (term: number, election = ELECTION): { election: string; term: number; termId: string } => ({
  election,
  term,
  termId: "t",
});

const seal = (world: World, by: Client, term: number, member: string): Promise<void> =>
  world.clock.runUntil(by.store.seal(leadership(term), member, { timeoutMs: 1_000 }));

/** Returns a world with a leader of term 1, and one of term 2 whose writes have not arrived at c. */
async function succeeded(): Promise<{ world: World; two: Client }> {
  const { world, other: two, first } = await begun("two");
  await world.clock.advance(2_000);
  await two.get();
  two.term = 2;
  world.down.add("c");
  await two.put("second", first);
  world.down.delete("c");
  return { world, two };
}

test("an older leader's writes pass at a member until the newer leader has sealed it, and none passes afterwards", async () => {
  const { world, two } = await succeeded();
  expect(two.store.capabilities.fence).toBe("after-seal");
  expect(world.services.c.admits(ELECTION, leadership(1))).toBe(true);

  await seal(world, two, 2, "c");
  expect(world.services.c.admits(ELECTION, leadership(1))).toBe(false);
  expect(world.services.c.admits(ELECTION, leadership(2))).toBe(true);

  world.requests();
  await world.clock.runUntil(two.store.seal(leadership(2), "c"));
  expect(world.requests().filter((request) => request.includes("put"))).toEqual([]);
});

test("a leadership that is over seals nothing", async () => {
  const { world } = await succeeded();

  await expect(seal(world, world.open("late"), 1, "c")).rejects.toMatchObject({ code: "FENCED", term: 1, currentTerm: 2 });
  expect(world.services.c.admits(ELECTION, leadership(2))).toBe(false);
  await expect(seal(world, world.open("early"), 3, "a")).rejects.toMatchObject({ code: "FENCED" });
});

test("a leadership that is over seals nothing, even if reads lag", async () => {
  const { world } = await succeeded();
  world.passage = ({ operation }) =>
    operation === "get" ? { arrivals: [{ afterMs: 1, replyAfterMs: 1 }], lags: true } : undefined;

  await expect(seal(world, world.open("late"), 1, "c")).rejects.toMatchObject({ code: "FENCED", term: 1, currentTerm: 2 });
});

test("a seal of a silent member fails in time, and costs the leader no prepare", async () => {
  const { world, two } = await succeeded();
  world.down.add("c");
  const begunMs = world.clock.monotonicMs();
  await expect(seal(world, two, 2, "c")).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    message: expect.stringMatching(
      /^c has not shown this leadership for the whole time: (no answer in time\.|c .* did not answer)/,
    ),
    mayHaveBeenApplied: false,
  });
  expect(world.clock.monotonicMs() - begunMs).toBeLessThan(1_500);

  const version = (await two.get())?.version;
  world.requests();
  await two.put("third", version);
  expect(world.requests().filter((request) => !request.endsWith("c"))).toEqual(["two put a", "two put b"]);
});

test("a seal without a majority writes nothing, and its error says so", async () => {
  const { world, two } = await succeeded();
  world.down.add("a").add("b");
  world.requests();
  await expect(seal(world, two, 2, "c")).rejects.toMatchObject({
    code: "STORE_TIMEOUT",
    message: expect.stringMatching(/^No majority of a, b, c answers\./),
    mayHaveBeenApplied: false,
  });
  expect(world.requests().filter((request) => request.includes("put"))).toEqual([]);
});

test("a seal is refused before any request if the member cannot be sealed", async () => {
  const clock = new VirtualClock();
  const memory = { a: new MemoryRecordStore(clock), b: new MemoryRecordStore(clock), c: new MemoryRecordStore(clock) };
  const store = new QuorumRecordStore(memory, clock);

  expect(store.capabilities.fence).toBe("none");
  await expect(store.seal(leadership(1), "a")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  await expect(store.seal(leadership(1), "d")).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringContaining("'d' is no member of this quorum, which is of a, b, c"),
  });
  class Fenced extends MemoryRecordStore {
    override readonly capabilities = { ...memory.a.capabilities, fence: "atomic" as const };
  }
  const mixed = new QuorumRecordStore({ ...memory, a: new Fenced(clock) }, clock);
  expect(mixed.capabilities.fence).toBe("after-seal");
  await expect(mixed.seal(leadership(1), "b")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  const world = new World();
  const { store: fenced } = world.open("one");
  await expect(fenced.seal(leadership(1), "a", { timeoutMs: -1 })).rejects.toMatchObject({ code: "CONFIGURATION" });
  await expect(fenced.seal(leadership(1), "a", { signal: {} as AbortSignal })).rejects.toMatchObject({ code: "CONFIGURATION" });
  expect(world.requests()).toEqual([]);
});

test("a fence follows the ballots, also to an earlier term, because a proposal that lost may have had a later one", async () => {
  const world = await World.founded();
  const [one, loser, winner] = [world.open("one"), world.open("loser"), world.open("winner")];
  const first = versionOf(await one.put("first"));
  await world.clock.advance(2_000);
  [loser.term, winner.term] = [100, 2];
  await loser.get();
  await winner.get();
  let writes = 0;
  world.passage = ({ by, to, operation }) =>
    by === "loser" && operation === "put" && (writes += 1) > 3 && to !== "c" ? { arrivals: [] } : undefined;
  const lost = loser.startPut("lost", first).catch(() => undefined);
  await world.clock.advance(50);
  expect(world.services.c.admits(ELECTION, leadership(100))).toBe(true);
  world.down.add("c");
  await world.clock.runUntil(lost);
  world.passage = () => undefined;
  const second = versionOf(await winner.put("second", first));
  world.down.delete("c");
  await world.clock.advance(2_000);
  await winner.put("third", second);
  await seal(world, winner, 2, "c");

  expect(world.services.c.admits(ELECTION, leadership(2))).toBe(true);
  expect(world.services.c.admits(ELECTION, leadership(100))).toBe(false);
});

test("renewals, prepares and repairs leave a fence alone, which a guarded transaction may have locked", async () => {
  const clock = new VirtualClock();
  const fences: Array<Fence | undefined> = [];
  class Watched extends MemoryRecordStore {
    override put(election: string, record: LeaseRecord, options: PutOptions): ReturnType<MemoryRecordStore["put"]> {
      if (election === ELECTION && options.fence) fences.push(options.fence);
      return super.put(election, record, options);
    }
  }
  const members = { a: new Watched(clock), b: new MemoryRecordStore(clock), c: new MemoryRecordStore(clock) };
  const signal = new AbortController().signal;
  let version: string | undefined;
  const write = async (store: QuorumRecordStore, record: LeaseRecord): Promise<void> => {
    version = versionOf(await clock.runUntil(store.put(ELECTION, record, { ifVersion: version, keepsNonce: false, signal })));
  };
  for (const process of [new QuorumRecordStore(members, clock), new QuorumRecordStore(members, clock)]) {
    for (const nonce of ["one", "two"]) await write(process, recordOf(nonce));
  }
  expect(fences).toEqual([{ term: 1, termId: "t" }]);

  const other = new QuorumRecordStore(members, clock);
  await write(other, recordOf("three", 2));
  await write(other, { ...recordOf("three", 2), broken: { reason: "any", id: "x" } });
  await write(other, { ...recordOf("three", 2), broken: { reason: "any", id: "x" }, nonce: "four" });
  expect(fences.slice(1)).toEqual([
    { term: 2, termId: "t" },
    { term: 2, termId: null },
  ]);
});
