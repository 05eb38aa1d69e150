import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { LeaseStore } from "@leasehold/core";
import { DEFAULT_RETENTION_MS, occurrencesOf } from "@leasehold/core/occurrences";
import { onlyAsLeader } from "@leasehold/functions";
import { openStore, testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import type { OpenStore } from "@leasehold/test-kit/stores/test-store";
import { RequestCounter, type Requests } from "./request-counter.ts";

/** The situations that a wrapped function finds, with or without a memory in its process. */
export const SITUATIONS = [
  "cold, another leads (exclusive)",
  "cold, another group's turn (sticky)",
  "cold, another at work (oncePerTick)",
  "cold, done already (oncePerTick)",
  "a whole invocation, cold (exclusive)",
  "a whole invocation, warm (exclusive)",
  "a whole invocation, cold (oncePerTick, fresh occurrence)",
  "a whole invocation, warm (oncePerTick, fresh occurrence)",
] as const;
export type Situation = (typeof SITUATIONS)[number];

const PLATFORM_TIMEOUT_MS = 60_000;
/** Longer than twice the tolerance of any store's clock. */
const PERIOD_MS = 60_000;

/** Counts the requests of a few functions in each situation. For a store with members, it counts the requests to each member. */
export async function functionRequests(name: StoreName, rounds: number): Promise<Map<Situation, Requests[]>> {
  await using service = await (await testStore(name)).start();
  const counts = new Map<Situation, Requests[]>();
  for (let round = 0; round < rounds; round += 1) {
    const opened: OpenStore[] = [];
    /** Returns a store without memory, as in a process that has just started. */
    const cold = async (): Promise<LeaseStore> => {
      const open = await openStore(service.settings);
      opened.push(open);
      return open.store;
    };
    try {
      for (const [situation, sent] of await situations(cold, service.members !== undefined))
        counts.set(situation, [...(counts.get(situation) ?? []), sent]);
    } finally {
      for (const { close } of opened) await close();
    }
  }
  return counts;
}

async function situations(cold: () => Promise<LeaseStore>, isMadeOfStores: boolean): Promise<Map<Situation, Requests>> {
  const counts = new Map<Situation, Requests>();
  const [election, schedule, sticky] = [randomUUID(), randomUUID(), randomUUID()];
  const count = async (situation: Situation, store: LeaseStore, invoke: () => Promise<unknown>): Promise<void> => {
    using counter = new RequestCounter();
    await invoke();
    counts.set(situation, isMadeOfStores ? counter.byMemberOf(store.name) : counter.by(store.name));
  };
  const exclusive = (store: LeaseStore, handler: () => unknown) =>
    onlyAsLeader({ store, election, remainingMs: PLATFORM_TIMEOUT_MS }, handler);
  const grouped = (store: LeaseStore, group: string) =>
    onlyAsLeader(
      { gate: "sticky", store, election: sticky, group, periodMs: PERIOD_MS, remainingMs: PLATFORM_TIMEOUT_MS },
      () => "ran",
    );
  const beganMs = Date.now();
  const once = (store: LeaseStore, handler: (sinceMs: number) => unknown) =>
    onlyAsLeader(
      {
        gate: "oncePerTick",
        store,
        election: schedule,
        occurrence: (sinceMs: number) => ({ name: "bench", scheduledMs: beganMs + sinceMs }),
        remainingMs: PLATFORM_TIMEOUT_MS,
      },
      handler,
    );

  // The first requests make the tables or containers of the store. They do not count.
  const leader = await cold();
  await exclusive(leader, () => "ran")();
  await once(leader, () => "ran")(0);

  const another = await cold();
  await count(
    "a whole invocation, cold (exclusive)",
    another,
    exclusive(another, () => "ran"),
  );
  await count(
    "a whole invocation, warm (exclusive)",
    another,
    exclusive(another, () => "ran"),
  );
  await exclusive(leader, async () => {
    const store = await cold();
    await count("cold, another leads (exclusive)", store, exclusive(store, refused));
  })();

  // The gate needs a store with a clock.
  if (leader.capabilities.reservation) {
    await grouped(leader, "east")();
    const west = await cold();
    await count("cold, another group's turn (sticky)", west, grouped(west, "west"));
  }

  const third = await cold();
  // Waits as between two ticks of a schedule with one tick a minute. The record of the last run has a short hold, which is over
  // then.
  const { minLeaseMs, storeClock } = occurrencesOf(third, schedule, DEFAULT_RETENTION_MS, "the benchmark").capabilities;
  const noteMs = minLeaseMs + (storeClock?.toleranceMs ?? 0);
  await delay(noteMs);
  await count("a whole invocation, cold (oncePerTick, fresh occurrence)", third, () => once(third, () => "ran")(1_000));
  await delay(noteMs);
  await count("a whole invocation, warm (oncePerTick, fresh occurrence)", third, () => once(third, () => "ran")(2_000));
  const late = await cold();
  await count("cold, done already (oncePerTick)", late, () => once(late, refused)(2_000));
  await once(leader, async () => {
    const store = await cold();
    await count("cold, another at work (oncePerTick)", store, () => once(store, refused)(3_000));
  })(3_000);
  return counts;
}

function refused(): never {
  throw new Error("Another leads, and yet this handler runs.");
}
