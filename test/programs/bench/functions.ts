import { randomUUID } from "node:crypto";
import { MemoryLeaseStore, type LeaseStore } from "@leasehold/core";
import { onlyAsLeader } from "@leasehold/functions";
import { openStore, testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { FUNCTION_STORES, functionRequests, SITUATIONS } from "./function-requests.ts";
import type { Result, Section } from "./section.ts";
import { blockRatios, median, summarize } from "./statistics.ts";
import { win } from "@leasehold/test-kit/acquisitions";

const ROUNDS = 3;
const PLATFORM_TIMEOUT_MS = 60_000;
/** The wrapper's lease there: the invocation and a margin, at most Azure's longest lease. */
const LEASE_MS = 60_000;
const LIMITS = { timeoutMs: 5_000 };
const WARM_UP_TURNS = 30;
const TURNS = 240;
const BLOCK_SIZE = 24;
/** The blocks and turns that measure the wrapper's own work, without a service. */
const CPU_BLOCKS = 15;
const CPU_TURNS = 1_500;
/**
 * The goal: what the wrapper may add to a round trip to an emulator, in percent. A read of the other stores is too short to
 * compare.
 */
const GOAL_PERCENT = 5;
const EMULATED: readonly StoreName[] = ["azure", "dynamodb", "firestore"];

export const functions: Section = {
  name: "functions",
  about: "requests of a wrapped function on every store, and what the wrapper itself adds to them",
  meaning:
    "Whoever finds that another leads sends two requests at most, also when its process has just started; the second one is " +
    "a look that confirms what an inexact clock has told. On a quorum these are the requests to each member, of which a process " +
    "sends two before all others. 'x bare' is a wrapped empty handler to the same read, acquire and " +
    "release without the wrapper, in turns. The wrapper's own CPU is that of an invocation less that of the bare calls, " +
    "both on a store in memory, where nothing else happens and all code is compiled. The percentage is of one look, and the " +
    "goal is for the emulators of services: a database beside the function answers in less time than any cloud does.",
  takesS: 60,
  async measure() {
    const addedUs = await addedCpuUs();
    const results: Result[] = [{ measure: "the wrapper's own CPU, each invocation", unit: "us", ...summarize(addedUs) }];
    for (const name of FUNCTION_STORES) {
      if ((await (await testStore(name)).missing()) !== undefined) continue;
      results.push(...(await requestsOn(name)), ...(await timesOn(name, addedUs)));
    }
    return results;
  },
};

async function requestsOn(name: StoreName): Promise<Result[]> {
  const counts = await functionRequests(name, ROUNDS);
  return SITUATIONS.filter((situation) => counts.has(situation)).map((situation) => ({
    measure: `${name}: ${situation}`,
    unit: "requests",
    ...(situation.startsWith("cold") ? { goal: name === "quorum" ? 4 : 2 } : {}),
    ...summarize((counts.get(situation) ?? []).map(({ reads, writes }) => reads + writes)),
  }));
}

async function timesOn(name: StoreName, addedUs: readonly number[]): Promise<Result[]> {
  await using service = await (await testStore(name)).start();
  const { store, close } = await openStore(service.settings);
  try {
    const wrapped = onlyAsLeader({ store, election: randomUUID(), remainingMs: PLATFORM_TIMEOUT_MS }, () => undefined);
    const bare = bareCalls(store, randomUUID());
    const idle = randomUUID();
    await bareCalls(store, idle)();
    const times = { wrapped: [] as number[], bare: [] as number[], look: [] as number[] };
    const timed = async (step: keyof typeof times, take: () => Promise<unknown>): Promise<void> => {
      const startMs = performance.now();
      await take();
      times[step].push(performance.now() - startMs);
    };
    for (let turn = -WARM_UP_TURNS; turn < TURNS; turn += 1) {
      if (turn === 0) for (const samples of Object.values(times)) samples.length = 0;
      await timed("look", () => store.read(idle, LIMITS));
      // The second one may find warm caches, so the order alternates.
      const [first, second] = turn % 2 === 0 ? (["bare", "wrapped"] as const) : (["wrapped", "bare"] as const);
      for (const step of [first, second]) await timed(step, step === "bare" ? bare : wrapped);
    }
    const lookMs = median(times.look);
    const percents = addedUs.map((us) => us / 10 / lookMs);
    return [
      { measure: `${name}: a look`, unit: "ms", ...summarize(times.look) },
      { measure: `${name}: an empty handler, wrapped`, unit: "ms", ...summarize(times.wrapped) },
      {
        measure: `${name}: an empty handler, wrapped`,
        unit: "x bare",
        ...summarize(blockRatios(times.wrapped, times.bare, BLOCK_SIZE)),
      },
      {
        measure: `${name}: the wrapper's own CPU`,
        unit: "% of a look",
        ...(EMULATED.includes(name) ? { goal: GOAL_PERCENT } : {}),
        ...summarize(percents),
      },
    ];
  } finally {
    await close();
  }
}

/** Returns a function that makes the store calls of a wrapped invocation. */
function bareCalls(store: LeaseStore, election: string): () => Promise<void> {
  return async () => {
    await store.read(election, { ...LIMITS, expiry: "store-clock" });
    const timing = { leaseDurationMs: LEASE_MS, renewIntervalMs: LEASE_MS / 3, ...LIMITS };
    await store.release(await win(store, { election, expiry: "store-clock", ...timing }), LIMITS);
  };
}

/** Returns the processor time of an invocation without its store calls: one figure for each block of turns. */
async function addedCpuUs(): Promise<number[]> {
  const store = new MemoryLeaseStore();
  const wrapped = onlyAsLeader({ store, election: randomUUID(), remainingMs: PLATFORM_TIMEOUT_MS }, () => undefined);
  const bare = bareCalls(store, randomUUID());
  const cpuUs = async (take: () => Promise<unknown>): Promise<number> => {
    const before = process.cpuUsage();
    for (let turn = 0; turn < CPU_TURNS; turn += 1) await take();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / CPU_TURNS;
  };
  // Warms up, until the code is compiled and the heap has its final size.
  for (let block = 0; block < 3; block += 1) for (const take of [bare, wrapped]) await cpuUs(take);
  const added: number[] = [];
  for (let block = 0; block < CPU_BLOCKS; block += 1) {
    const bareUs = await cpuUs(bare);
    added.push((await cpuUs(wrapped)) - bareUs);
  }
  return added;
}
