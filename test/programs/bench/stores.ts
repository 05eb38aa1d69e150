import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { LeaseStore } from "@leasehold/core";
import { openStore, STORE_NAMES, testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import { RequestCounter } from "./request-counter.ts";
import type { Result, Section } from "./section.ts";
import { blockRatios, summarize } from "./statistics.ts";
import type { OpenStore } from "@leasehold/test-kit/stores/test-store";
import { win } from "@leasehold/test-kit/acquisitions";
import { successions } from "./successions.ts";

const LEASE_MS = 15_000;
const LIMITS = { timeoutMs: 5_000 };
const WARM_UP_TURNS = 20;
const TURNS = 120;
const BLOCK_SIZE = 12;
const LAST_MEMBER_MS = 25;
const STEPS = ["look", "acquire", "renew", "release"] as const;
type Step = (typeof STEPS)[number];

/** The times and requests of each turn, step by step. */
type Turns = Readonly<Record<Step, { readonly ms: number[]; readonly requests: number[] }>>;

export const stores: Section = {
  name: "stores",
  about: "requests and milliseconds of each step, of a hand-over and of a takeover on every store whose service this machine has",
  meaning:
    "Every step is one request, but for an acquisition on a blob, which is two; and of a quorum one to each of three members, but " +
    "for an acquisition, which is three; and of servers that vote the same to each of two others, and a standby's look none. Milliseconds are those of emulators and of " +
    "databases on this machine, and compare nothing but steps of one store: hence the ratios to its own look. A hand-over lasts from " +
    "stop() of a leader to the standby's leading, and a takeover from the end of a crashed leader's lease, counted from before the send of " +
    "its last renewal; where standbys look at intervals, so far they are apart.",
  takesS: 220,
  async measure() {
    const results: Result[] = [];
    for (const name of STORE_NAMES) {
      if ((await (await testStore(name)).missing()) === undefined) results.push(...(await measureStore(name)));
    }
    return results;
  },
};

async function measureStore(name: StoreName): Promise<Result[]> {
  const { start, leaseDurationMs: shortestLeaseMs } = await testStore(name);
  await using service = await start();
  const { settings, seats, members = seats } = service;
  const opened = await Promise.all((seats ?? [{ settings }, { settings }]).map((seat) => openStore(seat.settings)));
  const [leader, standby] = opened as [OpenStore, OpenStore];
  const open = new Set(opened);
  // With voting, the leader's process is a part of the service too.
  const crash = async (): Promise<void> => {
    if (seats && open.delete(leader)) await leader.close();
  };
  try {
    if (seats) await Promise.all(opened.map(({ store }) => takesPart(store)));
    const turns = await takeTurns(leader.store, standby.store, {
      ...(members ? { lastMemberMs: LAST_MEMBER_MS } : {}),
      countsItself: seats !== undefined,
    });
    const { handoverMs, takeoverMs } = await successions({
      leader: leader.store,
      standby: standby.store,
      shortestLeaseMs,
      crash,
    });
    const steps = STEPS.flatMap((step) => [
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
    return [
      ...steps,
      { measure: `${name}: hand-over`, unit: "ms", ...summarize(handoverMs) },
      { measure: `${name}: takeover, after the lease`, unit: "ms", ...summarize(takeoverMs) },
    ];
  } finally {
    await Promise.all([...open].map((each) => each.close()));
  }
}

/** A voting server takes part soon after it listens. */
async function takesPart(store: LeaseStore): Promise<void> {
  const untilMs = performance.now() + LIMITS.timeoutMs;
  for (;;) {
    try {
      await store.read(`bench-${randomUUID()}`, LIMITS);
      return;
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await delay(50);
    }
  }
}

interface TurnsOptions {
  /**
   * Set for a store with members, whose requests are counted. The store answers before its last member, which needs at most this
   * long.
   */
  readonly lastMemberMs?: number | undefined;
  /** True if the store's own requests are those to its members. */
  readonly countsItself?: boolean;
}

/** Runs the steps one after another, all of them in each turn. */
async function takeTurns(leader: LeaseStore, standby: LeaseStore, options: TurnsOptions): Promise<Turns> {
  const { lastMemberMs, countsItself = false } = options;
  const isMadeOfStores = lastMemberMs !== undefined;
  using counter = new RequestCounter();
  const turns: Turns = {
    look: { ms: [], requests: [] },
    acquire: { ms: [], requests: [] },
    renew: { ms: [], requests: [] },
    release: { ms: [], requests: [] },
  };
  const election = `bench-${randomUUID()}`;
  const ended = (): number => (isMadeOfStores && !countsItself ? counter.ofMembersOf(leader.name) : counter.of(leader.name));
  const timed = async <T>(step: Step, take: () => Promise<T>): Promise<T> => {
    const sent = ended();
    const startMs = performance.now();
    const result = await take();
    turns[step].ms.push(performance.now() - startMs);
    if (isMadeOfStores) await delay(lastMemberMs);
    turns[step].requests.push(ended() - sent);
    return result;
  };
  for (let turn = 0; turn < WARM_UP_TURNS + TURNS; turn += 1) {
    // The last leader has promises of a majority of the members. So with members the two stores take turns.
    const [holder, other] = isMadeOfStores && turn % 2 === 1 ? [standby, leader] : [leader, standby];
    if (isMadeOfStores) {
      await holder.read(election, LIMITS);
      await delay(lastMemberMs);
    }
    const lease = await timed("acquire", () =>
      win(holder, { ...LIMITS, election, leaseDurationMs: LEASE_MS, renewIntervalMs: LEASE_MS / 3 }),
    );
    await timed("look", () => other.read(election, LIMITS));
    await timed("renew", () => holder.renew(lease, LIMITS));
    await timed("release", () => holder.release(lease, LIMITS));
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
