import type { PauseOptions, PauseOutcome, ResumeOptions, ResumeOutcome } from "../store/admin-calls.ts";
import { checkName, checkReason } from "../store/names.ts";
import { barOf, withBars, type Bar } from "./bars.ts";
import { leaseToWaitMs } from "./lost-record.ts";
import { changeRecord, type Change } from "./record-change.ts";
import { vacantRecord } from "./record-store.ts";
import type { RecordCache } from "./record-cache.ts";
import type { ObservedRecord } from "./observed-record.ts";

/** Blocks every candidate until the election is resumed. The nonce does not change, so a present leader goes on. */
export async function pauseRecord(seen: RecordCache, election: string, options: PauseOptions): Promise<PauseOutcome> {
  checkName("election", election);
  const { reason, timeoutMs } = options;
  checkReason(reason, "say why the election is paused");
  const { clock } = seen;
  const pause = { untilMs: null, except: null, reason, id: clock.randomUuid(), sinceMs: clock.wallMs() } as const;
  const nonce = clock.randomUuid();
  return await changeRecord(seen, election, {
    operation: "pause",
    advice: "Repeat it.",
    timeoutMs,
    change: (found) => {
      const present = found && barOf(found.record, "pause");
      if (present) return { ...there(found), outcome: outcomeOf(present, present.id === pause.id) };
      const leaseDurationMs = leaseToWaitMs(seen.last(election)?.record);
      const record = found?.record ?? vacantRecord({ term: 0, nonce, leaseDurationMs });
      return { outcome: outcomeOf(pause, true), record: withBars(record, [...(record.bars ?? []), pause]) };
    },
  });
}

export async function resumeRecord(seen: RecordCache, election: string, options: ResumeOptions = {}): Promise<ResumeOutcome> {
  checkName("election", election);
  return await changeRecord(seen, election, {
    operation: "resume",
    advice: "Repeat it.",
    timeoutMs: options.timeoutMs,
    change: (found, isSent) => {
      const present = found && barOf(found.record, "pause");
      if (!present) return { ...(found && isSent ? there(found) : {}), outcome: { resumed: isSent } };
      const left = found.record.bars?.filter((bar) => bar !== present) ?? [];
      return { outcome: { resumed: true }, record: withBars(found.record, left) };
    },
  });
}

function there({ record }: ObservedRecord): Pick<Change<unknown>, "record" | "isThere"> {
  return { record, isThere: true };
}

function outcomeOf({ reason = "", sinceMs }: Bar, isNew: boolean): PauseOutcome {
  return { isNew, reason, ...(sinceMs === undefined ? {} : { sinceMs }) };
}
