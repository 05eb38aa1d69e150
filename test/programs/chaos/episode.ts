import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { timing } from "@leasehold/core";
import { testStore, type StoreName } from "@leasehold/test-kit/stores/stores";
import type { StoreService } from "@leasehold/test-kit/stores/test-store";
import { hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { Crew, isRunning } from "./processes.ts";
import { SeededRandom } from "@leasehold/core/testing";
import type { EpisodeLog } from "./episode-log.ts";
import { Injector } from "./inject.ts";
import { leaderBackMs, STUBBORN } from "./leader-back.ts";
import { planOf } from "./plan.ts";
import { runsOf } from "@leasehold/test-kit/candidates/register";

/** The longest time between two polls of a standby, if a lease is short. */
const RETRY_PERIOD_MS = 500;
const LONG_LEASE_MS = 10_000;
const WRITE_EVERY_MS = 50;
/** How often the episode checks for a leader. */
const LOOK_EVERY_MS = 5;
const LOOK_AT_MEMBERS_MS = 200;
/**
 * How long to wait for an expected event: a leader, a record, a worker's end. It is ten times what each takes on an idle machine.
 */
const PATIENCE_MS = 300_000;

export interface EpisodeOptions {
  readonly store: StoreName;
  readonly seed: number;
  readonly rounds: number;
  readonly service: StoreService;
  /** Called after each round. */
  readonly onRound?: ((healed: { readonly round: number; readonly backAfterMs: number | undefined }) => void) | undefined;
  /** No round begins once it has aborted. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Plays one election of five workers, and some rounds of faults. It ends early if there is no leader again after a round. A
 * checker judges the log.
 */
export async function playEpisode({ store, seed, rounds, service, onRound, signal }: EpisodeOptions): Promise<EpisodeLog> {
  const { leaseDurationMs: leaseMs, open } = await testStore(store);
  const election = `chaos-${randomUUID()}`;
  const durations = { leaseDurationMs: leaseMs, ...(leaseMs < LONG_LEASE_MS ? { retryPeriodMs: RETRY_PERIOD_MS } : {}) };
  const direct = await open(service.settings);
  try {
    const boundMs = leaderBackMs(store, timing(durations, direct.store.capabilities));
    const dice = new SeededRandom(seed);
    await using crew = await Crew.gather({
      service,
      election,
      elector: durations,
      habits: { everyMs: WRITE_EVERY_MS, patienceMs: leaseMs, stubbornMs: STUBBORN * leaseMs },
      nextSeed: () => dice.seed(),
    });
    const injector = new Injector(crew, service, leaseMs);
    const healedMs: number[] = [];
    const leaderIsBack = async (): Promise<boolean> => {
      const sinceMs = hostMs();
      healedMs.push(sinceMs);
      while (!crew.hasLedSince(sinceMs) && hostMs() < sinceMs + PATIENCE_MS) await delay(LOOK_EVERY_MS);
      const isBack = crew.hasLedSince(sinceMs);
      onRound?.({ round: healedMs.length - 1, backAfterMs: isBack ? hostMs() - sinceMs : undefined });
      return isBack;
    };

    const unhealed: string[] = [];
    let goesOn = await leaderIsBack();
    const hasMembers = service.members !== undefined;
    for (const round of planOf(seed, { rounds, isNetworked: store !== "sqlite", hasMembers })) {
      if (!goesOn || signal?.aborted) break;
      await delay(round.calm * leaseMs);
      await injector.carryOut(round);
      goesOn = await leaderIsBack();
      if (goesOn && round.member) unhealed.push(...(await withoutRecord(service, election)));
    }

    const endedMs = hostMs();
    await dismiss(crew);
    return {
      store,
      seed,
      leaseMs,
      leaderBackMs: boundMs,
      fence: direct.store.capabilities.fence,
      workers: crew.logs,
      injected: injector.injected,
      healedMs,
      unhealed,
      register: runsOf(await direct.document(election).read()),
      endedMs,
    };
  } finally {
    await direct.close();
  }
}

/**
 * Waits until each of several stores has a record of the election that a continuing leader has written. A write that began while
 * one store was away must be over before another store is wiped. Returns the names of the stores without such a record.
 */
async function withoutRecord({ members = [] }: StoreService, election: string): Promise<readonly string[]> {
  const untilMs = hostMs() + PATIENCE_MS;
  const found = members.map(async (member) => {
    while (hostMs() < untilMs) {
      if (await member.keeps(election)) return [];
      await delay(LOOK_AT_MEMBERS_MS);
    }
    return [`${member.name} had no record of the election ${PATIENCE_MS} ms after somebody led`];
  });
  return (await Promise.all(found)).flat();
}

/** Ends every worker as an orchestrator does. A worker that is cut off is ended without a wait. */
async function dismiss(crew: Crew): Promise<void> {
  await Promise.all(
    crew.posts.map(async (post) => {
      if (!post.process || !isRunning(post)) return;
      if (post.isSevered) return post.process.end();
      post.process.signal("SIGTERM");
      // No worker may write while the register is read.
      await post.process.said("exited", { withinMs: PATIENCE_MS }).catch(async () => post.process?.end());
    }),
  );
}
