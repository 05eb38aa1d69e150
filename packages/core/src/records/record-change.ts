import { ConfigurationError, isUnknown } from "../reporting/errors.ts";
import type {
  AdminCallOptions,
  RepairOptions,
  RepairOutcome,
  PauseOptions,
  PauseOutcome,
  ResumeOutcome,
} from "../store/admin-calls.ts";
import { checkName, checkTerm, checkReason } from "../store/names.ts";
import { barOf, holdFor, withBars, type Bar } from "./bars.ts";
import { leaseToWaitMs } from "./lost-record.ts";
import { vacantRecord, type LeaseRecord } from "./record-store.ts";
import { outcomeUnknown } from "../store/failed-request.ts";
import { DEFAULT_REQUEST_TIMEOUT_MS } from "../store/lease-limits.ts";
import type { RecordCache } from "./record-cache.ts";
import type { ObservedRecord } from "./observed-record.ts";

const TRIES = 4;

interface Change<Outcome> {
  readonly outcome: Outcome;
  /** The record to write; absent where nothing is to be changed. */
  readonly record?: LeaseRecord | undefined;
  /** True where the store holds the record already, because an earlier try has arrived. */
  readonly isThere?: boolean | undefined;
}

interface ChangeRequest<Outcome> {
  readonly operation: string;
  /** The advice for people if the outcome stays unknown: a sentence. */
  readonly advice: string;
  readonly timeoutMs: number | undefined;
  /** @param isSent true once a write of this request may have arrived. */
  readonly change: (found: ObservedRecord | undefined, isSent: boolean) => Change<Outcome>;
}

/** Changes a record by conditional writes. A read resolves a lost reply, or a write if reads may be undone. */
async function changeRecord<Outcome>(
  seen: RecordCache,
  election: string,
  { operation, advice, timeoutMs = DEFAULT_REQUEST_TIMEOUT_MS, change }: ChangeRequest<Outcome>,
): Promise<Outcome> {
  let unanswered: unknown;
  for (let tries = 0; tries < TRIES; tries += 1) {
    let isSent = false;
    try {
      const found = await seen.read(election, { timeoutMs });
      const { outcome, record, isThere } = change(found, unanswered !== undefined);
      if (!record || (isThere && !seen.showsUndurable)) return outcome;
      isSent = true;
      if ((await seen.write(election, record, found, { timeoutMs })) !== undefined) return outcome;
    } catch (error) {
      if (isSent && isUnknown(error)) unanswered = error;
      else if (unanswered === undefined) throw error;
    }
  }
  throw outcomeUnknown("STORE_CONFLICT", { store: seen.name, operation, election }, advice, unanswered);
}

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

export async function resumeRecord(seen: RecordCache, election: string, options: AdminCallOptions = {}): Promise<ResumeOutcome> {
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

/** The default of `minTerm` is this far above the highest known term, because other processes may have seen a higher one. */
const ROOM = 1_000;
/** A repair leaves at least this many terms for later elections. */
const TERMS_LEFT = 2 ** 32;

/** Mends a record that was deleted or restored. Each try has its own nonce, because the hold counts from that try's send. */
export async function repairRecord(seen: RecordCache, election: string, options: RepairOptions = {}): Promise<RepairOutcome> {
  checkName("election", election);
  checkTerm("minTerm", options.minTerm);
  if (options.reason !== undefined) checkReason(options.reason, "say why the election is repaired");
  const nonces = new Set<string>();
  const before = seen.last(election)?.record;
  return await changeRecord<RepairOutcome>(seen, election, {
    operation: "repair",
    advice: "Repeat it with the same minTerm.",
    timeoutMs: options.timeoutMs,
    change: (found) => {
      const isThere = found !== undefined && nonces.has(found.record.nonce);
      if (found && !isThere && isHeld(found)) {
        return { outcome: { repaired: false, current: seen.snapshot(election, found, "observed") } };
      }
      const record = isThere ? found.record : vacated(election, seen.clock.randomUuid(), found?.record, before, options);
      nonces.add(record.nonce);
      const holdMs = barOf(record, "hold")?.untilMs ?? 0;
      return { outcome: { repaired: true, minTerm: record.term + 1, holdMs }, record, isThere };
    },
  });
}

/** A broken term is no longer renewed, and any candidate may acquire an expired one. */
function isHeld(found: ObservedRecord): boolean {
  const { termId, broken, leaseDurationMs } = found.record;
  return termId !== null && !broken && found.ageMs("observed")[0] < leaseDurationMs;
}

function vacated(
  election: string,
  nonce: string,
  found: LeaseRecord | undefined,
  before: LeaseRecord | undefined,
  options: RepairOptions,
): LeaseRecord {
  const highest = Math.max(found?.term ?? 0, before?.term ?? 0);
  const { reason, minTerm = highest > 0 ? highest + ROOM : undefined } = options;
  const most = Number.MAX_SAFE_INTEGER - TERMS_LEFT;
  if (minTerm === undefined || minTerm <= highest || minTerm > most) {
    const message =
      minTerm === undefined
        ? `No record shows which terms '${election}' has had. Pass a minTerm above every term that a process or a fenced resource has seen.`
        : minTerm > most
          ? `minTerm is ${minTerm}, which leaves too few terms for '${election}'; it may be ${most} at most.`
          : `minTerm is ${minTerm}, but '${election}' has had term ${highest}. Pass a higher one.`;
    throw new ConfigurationError(message, { election });
  }
  const known = found ?? before;
  const leaseDurationMs = options.leaseDurationMs ?? leaseToWaitMs(known);
  const candidateId = found?.candidateId ?? before?.candidateId ?? null;
  const vacant = vacantRecord({ term: minTerm - 1, candidateId, nonce, leaseDurationMs });
  const record: LeaseRecord = {
    ...vacant,
    ...(reason === undefined ? {} : { broken: { reason, id: nonce } }),
    ...(known?.history === undefined ? {} : { history: known.history }),
  };
  // A repair does not resume an election, because operators pause it before they restore a backup.
  return withBars(record, [...holdFor(leaseDurationMs), known && barOf(known, "pause")]);
}
