import { doneOutcome, type TryRunOutcome } from "../election/calls.ts";
import type { Elector } from "../election/elector.ts";
import type { Leader, LeadershipOf, LeaderTask } from "../election/leadership.ts";
import { leaderOf } from "../election/observer.ts";
import { retryWaitMs, TRIES } from "../election/release.ts";
import { isOutage, type StoreError } from "../reporting/errors.ts";
import type { LeaseStore, OccurrenceStore } from "../store/lease-store.ts";
import { sleep, type Clock } from "../time/clock.ts";
import { withoutOccurrence } from "./occurrence.ts";
import { publishOccurrence } from "./occurrence-channel.ts";

export interface AttemptLimits {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** The latest time at which the task may begin. After that time the occurrence is only read. @defaultValue none */
  readonly latest?: LatestBegin | undefined;
}

/** The latest time at which the task of an occurrence may begin. */
export interface LatestBegin {
  /** The time by this host's wall clock, in milliseconds since the Unix epoch. */
  readonly wallMs: number;
  readonly store: OccurrenceStore;
}

/** `unavailable`: the store failed twice. `missed`: no host has claimed the occurrence, and it is too late to begin. */
export type AttemptOutcome<T> =
  | TryRunOutcome<T>
  | { readonly elected: false; readonly unavailable: StoreError }
  | { readonly elected: false; readonly reason: "missed"; readonly leader?: Leader | undefined };

function missed(occurrence: string): AttemptOutcome<never> {
  publishOccurrence(() => ({ name: withoutOccurrence(occurrence), occurrence, outcome: "missed" }));
  return { elected: false, reason: "missed" };
}

/** Runs the task if this candidate can lead at once. Rejects with every error of the task, also after an abort. */
export async function attempt<T, Store extends LeaseStore>(
  elector: Elector<Store>,
  task: LeaderTask<T, LeadershipOf<Store>>,
  { clock, signal, latest }: AttemptLimits,
): Promise<AttemptOutcome<T>> {
  let failure: { readonly error: unknown } | undefined;
  let started = false;
  let outage: StoreError | undefined;
  const isLate = (): boolean => latest !== undefined && clock.wallMs() > latest.wallMs;
  const becameLate = new Error("It became too late while the occurrence was being claimed.");
  const run: LeaderTask<T, LeadershipOf<Store>> = async (leadership) => {
    if (isLate()) throw becameLate;
    started = true;
    const work = (async () => await task(leadership))();
    const [settled] = await Promise.allSettled([work]);
    if (settled.status === "fulfilled") return settled.value;
    failure = { error: settled.reason as unknown };
    // Not the error itself: the elector would treat a signal's own reason like a return.
    throw new Error("The task has failed.");
  };
  for (let tries = 1; ; tries += 1) {
    try {
      if (latest && isLate()) return await readOnly(elector, latest.store, signal);
      return await elector.tryRun(run, { signal });
    } catch (error) {
      if (error === becameLate) return missed(elector.election);
      if (started) throw failure ? failure.error : error;
      if (isOutage(error)) outage = error;
      // If an abort cuts the second try short, the store has still not answered.
      else if (!outage || !signal?.aborted) throw error;
      if (tries === TRIES || signal?.aborted) return { elected: false, unavailable: outage };
      await sleep(clock, retryWaitMs(outage), signal).catch(() => undefined);
    }
  }
}

async function readOnly<Store extends LeaseStore>(
  { election, timing }: Elector<Store>,
  store: OccurrenceStore,
  signal: AbortSignal | undefined,
): Promise<AttemptOutcome<never>> {
  const expiry = store.capabilities.storeClock ? "store-clock" : undefined;
  const snapshot = await store.read(election, { timeoutMs: timing.attemptTimeoutMs, expiry, signal });
  if (snapshot?.bar?.kind === "done") return doneOutcome(snapshot.bar);
  const leader = leaderOf(snapshot);
  return leader ? { elected: false, leader } : missed(election);
}
