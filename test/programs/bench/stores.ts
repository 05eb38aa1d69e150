import { randomUUID } from "node:crypto";
import type { LeaseStore } from "@leasehold/core";
import { openStore, STORE_NAMES, testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { RequestCounter } from "./request-counter.ts";
import type { Result, Section } from "./section.ts";
import { blockRatios, summarize } from "./statistics.ts";
import { win } from "@leasehold/test-kit/acquisitions";

const LEASE_MS = 15_000;
const LIMITS = { timeoutMs: 5_000 };
const WARM_UP_TURNS = 20;
const TURNS = 120;
const BLOCK_SIZE = 12;
const STEPS = ["look", "acquire", "renew", "release"] as const;
type Step = (typeof STEPS)[number];

/** What each turn took and sent, step by step. */
type Turns = Readonly<Record<Step, { readonly ms: number[]; readonly requests: number[] }>>;

export const stores: Section = {
  name: "stores",
  about: "requests and milliseconds of each step on every store whose service this machine has",
  meaning:
    "Every step is one request, but for an acquisition on a blob, which is two. Milliseconds are those of emulators and of " +
    "databases on this machine, and compare nothing but steps of one store: hence the ratios to its own look.",
  takesS: 40,
  async measure() {
    const results: Result[] = [];
    for (const name of STORE_NAMES) {
      if ((await (await testStore(name)).missing()) === undefined) results.push(...(await measureStore(name)));
    }
    return results;
  },
};

async function measureStore(name: StoreName): Promise<Result[]> {
  await using service = await (await testStore(name)).start();
  const [leader, standby] = await Promise.all([openStore(service.settings), openStore(service.settings)]);
  try {
    const turns = await takeTurns(leader.store, standby.store);
    return STEPS.flatMap((step) => [
      { measure: `${name}: ${step}`, unit: "requests", ...summarize(turns[step].requests) },
      { measure: `${name}: ${step}`, unit: "ms", ...summarize(turns[step].ms) },
      ...(step === "look"
        ? []
        : [
            {
              measure: `${name}: ${step}`,
              unit: "x a look",
              ...summarize(blockRatios(turns[step].ms, turns.look.ms, BLOCK_SIZE)),
            },
          ]),
    ]);
  } finally {
    await Promise.all([leader.close(), standby.close()]);
  }
}

async function takeTurns(leader: LeaseStore, standby: LeaseStore): Promise<Turns> {
  using counter = new RequestCounter();
  const turns: Turns = {
    look: { ms: [], requests: [] },
    acquire: { ms: [], requests: [] },
    renew: { ms: [], requests: [] },
    release: { ms: [], requests: [] },
  };
  const election = `bench-${randomUUID()}`;
  const timed = async <T>(step: Step, take: () => Promise<T>): Promise<T> => {
    const sent = counter.of(leader.name);
    const startMs = performance.now();
    const result = await take();
    turns[step].ms.push(performance.now() - startMs);
    turns[step].requests.push(counter.of(leader.name) - sent);
    return result;
  };
  for (let turn = 0; turn < WARM_UP_TURNS + TURNS; turn += 1) {
    const lease = await timed("acquire", () =>
      win(leader, { ...LIMITS, election, leaseDurationMs: LEASE_MS, renewIntervalMs: LEASE_MS / 3 }),
    );
    await timed("look", () => standby.read(election, LIMITS));
    await timed("renew", () => leader.renew(lease, LIMITS));
    await timed("release", () => leader.release(lease, LIMITS));
    if (turn === WARM_UP_TURNS - 1) forget(turns);
  }
  return turns;
}

function forget(turns: Turns): void {
  for (const { ms, requests } of Object.values(turns)) {
    ms.length = 0;
    requests.length = 0;
  }
}
