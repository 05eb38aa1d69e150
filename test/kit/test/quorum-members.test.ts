/** Tests the members of the quorum: each is killed, started again, and emptied by itself. */
import { expect, onTestFinished, test } from "vitest";
import { win } from "../acquisitions.ts";
import { quorum } from "../stores/quorum.ts";
import type { MemberService } from "../stores/test-store.ts";

const ELECTION = "nightly-billing";

async function begin() {
  const service = await quorum.start();
  onTestFinished(() => service[Symbol.asyncDispose]());
  const open = await quorum.open(service.settings);
  onTestFinished(() => open.close());
  await win(open.store, { election: ELECTION, timeoutMs: 20_000 });
  return service.members as readonly MemberService[];
}

test("a killed member keeps the data on its disk, and an emptied member has none", async () => {
  const members = await begin();
  const kept = (): Promise<boolean[]> => Promise.all(members.map((member) => member.keeps(ELECTION)));
  expect(members.map(({ name }) => name)).toEqual(["sqlite", "dynamodb", "firestore"]);
  await expect.poll(kept).toEqual([true, true, true]);

  for (const member of members) await member.kill();
  for (const member of members) await member.start();
  expect(await kept()).toEqual([true, true, false]);

  for (const member of members) await member.wipe();
  expect(await kept()).toEqual([false, false, false]);
});
