import { ConfigurationError } from "../reporting/errors.ts";
import type { RepairOptions, RepairOutcome } from "../store/admin-calls.ts";
import { checkName, checkTerm } from "../store/names.ts";
import { barOf, holdFor, withBars } from "./bars.ts";
import { leaseToWaitMs } from "./lost-record.ts";
import { changeRecord } from "./record-change.ts";
import { vacantRecord, type LeaseRecord } from "./record-store.ts";
import type { RecordCache } from "./record-cache.ts";
import type { ObservedRecord } from "./observed-record.ts";

/** The default of `minTerm` is this far above the highest known term, because other processes may have seen a higher one. */
const ROOM = 1_000;
/** A repair leaves at least this many terms for later elections. */
const TERMS_LEFT = 2 ** 32;

/** Mends a record that was deleted or restored. Each try has its own nonce, because its hold counts from that send. */
export async function repairRecord(seen: RecordCache, election: string, options: RepairOptions = {}): Promise<RepairOutcome> {
  checkName("election", election);
  checkTerm("minTerm", options.minTerm);
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
  const { minTerm = highest > 0 ? highest + ROOM : undefined } = options;
  if (minTerm === undefined) {
    const message = `No record shows which terms '${election}' has had. Pass a minTerm above every term that a process or a fenced resource has seen.`;
    throw new ConfigurationError(message, { election });
  }
  if (minTerm <= highest) {
    throw new ConfigurationError(`minTerm is ${minTerm}, but '${election}' has had term ${highest}. Pass a higher one.`, {
      election,
    });
  }
  const most = Number.MAX_SAFE_INTEGER - TERMS_LEFT;
  if (minTerm > most) {
    const message = `minTerm is ${minTerm}, which leaves too few terms for '${election}'; it may be ${most} at most.`;
    throw new ConfigurationError(message, { election });
  }
  const known = found ?? before;
  const leaseDurationMs = options.leaseDurationMs ?? leaseToWaitMs(known);
  const candidateId = found?.candidateId ?? before?.candidateId ?? null;
  const vacant = vacantRecord({ term: minTerm - 1, candidateId, nonce, leaseDurationMs });
  const record = { ...vacant, ...(known?.history === undefined ? {} : { history: known.history }) };
  // A repair does not resume an election, because operators pause it before they restore a backup.
  return withBars(record, [...holdFor(leaseDurationMs), known && barOf(known, "pause")]);
}
