import { ConfigurationError, isUnknown, StoreError } from "../reporting/errors.ts";
import { DEFAULT_REQUEST_TIMEOUT_MS } from "../store/lease-limits.ts";
import type { RepairOptions, RepairOutcome } from "../store/lease-store.ts";
import { checkName, checkTerm } from "../store/names.ts";
import { leaseToWaitMs } from "./lost-record.ts";
import type { LeaseRecord } from "./record-store.ts";
import type { SeenRecords } from "./seen-records.ts";
import type { Sighting } from "./sighting.ts";

/** The number of times that a repair is tried against others who write, and against lost replies. */
const TRIES = 4;
/** The default of `minTerm` is so far above what can be seen: others may have seen more. */
const ROOM = 1_000;
/** The terms that a repair leaves for the elections to come. */
const TERMS_LEFT = 2 ** 32;

/**
 * Mends the record of an election that was deleted or restored. Each try is one conditional write on what was just read. A
 * reply that was lost is resolved by reading: a record with this repair's nonce is this repair's.
 */
export async function repairRecord(seen: SeenRecords, election: string, options: RepairOptions = {}): Promise<RepairOutcome> {
  checkName("election", election);
  checkTerm("minTerm", options.minTerm);
  const limits = { timeoutMs: options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS };
  const nonce = seen.clock.randomUuid();
  const before = seen.last(election)?.record;
  let unanswered: unknown;
  for (let tries = 0; tries < TRIES; tries += 1) {
    let isSent = false;
    try {
      const found = await seen.read(election, limits);
      const isOurs = found?.record.nonce === nonce;
      if (found && !isOurs && isHeld(found)) return { repaired: false, current: seen.snapshot(election, found, "observed") };
      const record = isOurs ? found.record : vacated(election, nonce, found?.record, before, options);
      const done = { repaired: true, minTerm: record.term + 1, holdMs: record.holdMs ?? 0 } as const;
      // What a read shows counts once it is written again, where a failover may undo it.
      if (isOurs && !seen.showsUndurable) return done;
      isSent = true;
      if ((await seen.write(election, record, found, limits)) !== undefined) return done;
    } catch (error) {
      if (!isSent || !isUnknown(error)) {
        if (unanswered === undefined || !isSent) throw error;
      } else unanswered = error;
    }
  }
  const message = `${seen.name}: no reply tells what became of the repair of '${election}'. Repeat it with the same minTerm.`;
  const details = { store: seen.name, operation: "repair", election, mayHaveBeenApplied: true, cause: unanswered };
  throw new StoreError("STORE_CONFLICT", message, details);
}

/** A broken term is no longer renewed, and an expired one may be acquired by anybody. */
function isHeld(found: Sighting): boolean {
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
    const message = `Nothing tells which terms '${election}' has had. Pass a minTerm above every term that a process or a fenced resource has seen.`;
    throw new ConfigurationError(message, { election });
  }
  if (minTerm <= highest) {
    throw new ConfigurationError(`minTerm is ${minTerm}, but '${election}' has had term ${highest}. Pass a higher one.`, {
      election,
    });
  }
  const most = Number.MAX_SAFE_INTEGER - TERMS_LEFT;
  if (minTerm > most) {
    throw new ConfigurationError(
      `minTerm is ${minTerm}, which leaves too few terms for '${election}'; it may be ${most} at most.`,
      {
        election,
      },
    );
  }
  const leaseDurationMs = options.leaseDurationMs ?? leaseToWaitMs(found ?? before);
  return {
    schema: 1,
    term: minTerm - 1,
    termId: null,
    candidateId: found?.candidateId ?? before?.candidateId ?? null,
    nonce,
    leaseDurationMs,
    renewIntervalMs: leaseDurationMs / 3,
    holdMs: leaseDurationMs,
  };
}
