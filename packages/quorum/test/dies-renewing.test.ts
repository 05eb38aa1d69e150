/** Tests a leader that dies in the middle of a renewal. */
import { Elector, timing } from "@leasehold/core";
import { RecordLeaseStore } from "@leasehold/core/provider";
import type { Passage } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { begun, ELECTION, nonceOf, World, type Client } from "./world.ts";

function compete(candidateId: string, { store, clock }: Client): Elector {
  const leases = new RecordLeaseStore(store, { clock });
  const elector = new Elector({ store: leases, election: ELECTION, candidateId, logger: false });
  void elector.run(async ({ ended }) => void (await ended));
  return elector;
}

test.each([
  { named: "prompt", answersAfterMs: 1 },
  { named: "slower than the others", answersAfterMs: 30 },
  { named: "so slow that it never counts", answersAfterMs: 600 },
])("a renewal at only one member, which is $named, is followed within crashFailoverMs", async ({ answersAfterMs }) => {
  const world = await World.founded();
  const dying = world.open("dying");
  const leader = compete("dying", dying);
  await world.clock.advance(2_000);
  expect(leader.isLeader).toBe(true);
  const standby = world.open("standby");
  const follower = compete("standby", standby);
  await world.clock.advance(10_000);
  const toC: Passage = { arrivals: [{ afterMs: 1, replyAfterMs: answersAfterMs }] };
  let sentMs: number | undefined;
  world.passage = ({ by, to, operation }) => {
    if (by !== "dying") return to === "c" ? toC : undefined;
    if (operation === "put") sentMs ??= world.clock.monotonicMs();
    return to === "c" ? toC : { arrivals: [] };
  };
  while (sentMs === undefined) await world.clock.advance(10);
  await world.clock.advance(2);
  dying.clock.kill();
  while (!follower.isLeader) await world.clock.advance(10);

  expect(world.clock.monotonicMs() - sentMs).toBeLessThan(
    timing({}, new RecordLeaseStore(standby.store).capabilities).crashFailoverMs,
  );
});

test("the time that one member has shown a nonce counts for that nonce only, and while the member shows it", async () => {
  const { world, one, other, first } = await begun();
  await other.get();
  await world.clock.advance(3_000);
  world.passage = ({ by, to, operation }) => (by === "one" && operation === "put" && to !== "c" ? { arrivals: [] } : undefined);
  await one.put("second", first).catch(() => undefined);
  world.passage = () => undefined;
  // A poll returns the chosen record, and also sees the newer one.
  expect(nonceOf(await other.get(false))).toBe("first");
  await world.clock.advance(5_000);

  const completed = await other.get();
  expect(nonceOf(completed)).toBe("second");
  expect(completed?.nonceKnownForMs).toBeGreaterThan(5_000);
  expect(completed?.nonceKnownForMs).toBeLessThan(5_500);
  const third = await other.put("third", completed?.version);
  expect(third).toMatchObject({ stored: true });
  expect((await other.get())?.nonceKnownForMs).toBeLessThan(100);
});
