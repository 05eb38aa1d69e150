import type { Leadership } from "@leasehold/core";
import { Fleet, readFleet } from "@leasehold/fleet";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { openStore, testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";
import { test } from "vitest";

const SHARDS = 4;
/** A member that renews every 4 s may stall for 3 s. */
const TIMES = { leaseDurationMs: 12_000, gatherMs: 500, settleMs: 1_000, retryPeriodMs: 300 };

/** Starts a member. The task of a shard adds the member's name to a document of that shard, under the shard's fence. */
async function startMember(settings: StoreSettings, memberId: string) {
  const { store, document, isRefusal, close } = await openStore(settings);
  const hasFence = settings.store !== "azure";
  const fleet = new Fleet({ ...TIMES, store, fleet: "orders", shards: SHARDS, memberId, logger: false });
  const documentOf = ({ name }: { readonly name: string }) => document(`shard-${name}`);
  const running = fleet.run(async (shard) => {
    if (hasFence) await documentOf(shard).update(shard as unknown as Leadership, (text) => text + memberId);
    await shard.ended;
  });
  const end = async (): Promise<void> => {
    await Promise.all([fleet.stop(), running]);
    await close();
  };
  return { fleet, store, hasFence, documentOf, isRefusal, [Symbol.asyncDispose]: end };
}

// Chaos plays SQLite and PostgreSQL.
test.concurrent.for<StoreName>(["mysql", "redis", "dynamodb", "firestore", "azure", "etcd"])(
  "a fleet on %s hands the shards of a member that stops to another one, whose fences, if it has any, refuse late writes",
  async (name, { expect, skip }) => {
    const { missing, start } = await testStore(name);
    skip(await isMissing(missing()));
    await using service = await start();
    await using a = await startMember(service.settings, "a");
    await using b = await startMember(service.settings, "b");
    // MySQL may end a task by a deadlock. Its shard rests, and may then go to the other member.
    const held = (): number[] => [a.fleet.shards.length, b.fleet.shards.length];
    await expect.poll(() => held().every((count) => count > 0) && held()[0]! + held()[1]!).toBe(SHARDS);
    const [late] = a.fleet.shards;
    await a.fleet.stop();
    await expect.poll(() => b.fleet.shards.length).toBe(SHARDS);
    if (a.hasFence) {
      const document = a.documentOf(late!);
      await expect.poll(() => document.read()).toMatch(/b$/);
      const refused: unknown = await document.write(late as unknown as Leadership, "late").catch((error: unknown) => error);
      expect(a.isRefusal(refused)).toBe(true);
    }
    const reader = await openStore(service.settings);
    const states = async (): Promise<unknown> =>
      (await readFleet(reader.store, "orders")).shards.map(({ state, memberId }) => [state, memberId]);
    // A first read cannot always tell whether a member lives.
    await expect.poll(states).toEqual(Array.from({ length: SHARDS }, () => ["held", "b"]));
    await reader.close();
  },
);
