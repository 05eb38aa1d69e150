import {
  blockerOf,
  isNotRun,
  type Claims,
  type Completion,
  type LeaseSnapshot,
  type LeaseState,
} from "../store/lease-snapshot.ts";
import type { Expiry } from "../store/lease-store.ts";
import { barOf, type Bar } from "./bars.ts";
import type { LeaseRecord } from "./record-store.ts";
import type { ObservedRecord } from "./observed-record.ts";
import { historyOf } from "./term-history.ts";

export interface SnapshotView {
  readonly expiry: Expiry | undefined;
  /** The rest of the hold of a term that this process has abandoned. Only this process knows that nobody leads on it. */
  readonly abandonedHoldMs?: number | undefined;
  readonly ignoresPause?: boolean | undefined;
}

export function snapshotOf(election: string, observed: ObservedRecord, view: SnapshotView): LeaseSnapshot {
  const { expiry, abandonedHoldMs } = view;
  const { record } = observed;
  const history = historyOf(record);
  const ageMs = observed.ageMs(expiry);
  const isAbandoned = abandonedHoldMs !== undefined;
  const vacant = record.termId === null || isAbandoned;
  const state = vacant ? "vacant" : leaseState(record, ageMs);
  const bar = blockerOf({
    state,
    done: record.done,
    completion: record.done ? completionOf(record.value) : undefined,
    ...(Object.assign({}, ...(record.bars ?? []).map((one) => claimOf(one, ageMs[0]))) as BarClaims),
    ...(isAbandoned && !record.broken ? { holdMs: abandonedHoldMs } : {}),
    ...(view.ignoresPause ? { pause: undefined } : {}),
  });
  const isAgeUnknown =
    observed.isMissing ||
    (observed.countsStoreClock(expiry) && !isAbandoned && bar && bar.kind !== "done" && observed.isAgeUnknown);
  return {
    election,
    state,
    term: record.term,
    ...(vacant || record.candidateId === null ? {} : { holder: record.candidateId }),
    ...(vacant || record.value === undefined ? {} : { value: record.value }),
    ageMs,
    leaseDurationMs: record.leaseDurationMs,
    ...(isAgeUnknown ? { ageUnknown: true as const } : {}),
    ...(bar ? { bar } : {}),
    ...(record.broken ? { endingReason: record.broken.reason } : {}),
    ...(history.length > 0 ? { history } : {}),
  };
}

/** Returns the facts that are recorded with the end of an occurrence. The text of another program may contain none. */
function completionOf(value = ""): Completion | undefined {
  try {
    const completion: unknown = JSON.parse(value);
    if (typeof completion !== "object" || completion === null) return undefined;
    const { skipped, ...rest } = completion as Completion;
    return isNotRun(skipped) ? { ...rest, skipped } : rest;
  } catch {
    return undefined;
  }
}

type BarClaims = Omit<Claims, "state" | "done" | "completion">;

/** Returns a block if it is in force at this age of the nonce. */
function claimOf({ untilMs, except, reason = "", sinceMs }: Bar, ageMs: number): BarClaims {
  if (untilMs === null) return { pause: { kind: "pause", reason, ...(sinceMs === undefined ? {} : { sinceMs }) } };
  const leftMs = untilMs - ageMs;
  if (leftMs <= 0) return {};
  if (!except) return { holdMs: leftMs };
  return "candidateId" in except ? { transferTo: except.candidateId } : { group: except.group };
}

function leaseState(record: LeaseRecord, [min, max]: readonly [number, number]): LeaseState {
  if (min >= record.leaseDurationMs) return "expired";
  if (max >= record.leaseDurationMs) return "unknown";
  return record.broken || barOf(record, "transfer") ? "ending" : "held";
}
