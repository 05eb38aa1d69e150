import { isUnknown } from "../reporting/errors.ts";
import { outcomeUnknown } from "../store/failed-request.ts";
import { DEFAULT_REQUEST_TIMEOUT_MS } from "../store/lease-limits.ts";
import type { LeaseRecord } from "./record-store.ts";
import type { RecordCache } from "./record-cache.ts";
import type { ObservedRecord } from "./observed-record.ts";

const TRIES = 4;

export interface Change<Outcome> {
  readonly outcome: Outcome;
  /** The record to write; absent where nothing is to be changed. */
  readonly record?: LeaseRecord | undefined;
  /** True where the store holds the record already, because an earlier try has arrived. */
  readonly isThere?: boolean | undefined;
}

export interface ChangeRequest<Outcome> {
  readonly operation: string;
  /** The advice for people whose outcome stays unknown: a sentence. */
  readonly advice: string;
  readonly timeoutMs: number | undefined;
  /** @param isSent true once a write of this request may have arrived. */
  readonly change: (found: ObservedRecord | undefined, isSent: boolean) => Change<Outcome>;
}

/** Changes a record by conditional writes. A read resolves a lost reply; where a failover may undo it, a further write. */
export async function changeRecord<Outcome>(
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
