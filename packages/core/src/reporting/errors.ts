export type LeaseholdErrorCode =
  | "CONFIGURATION"
  | "ALREADY_ABORTED"
  | "ELECTOR_BUSY"
  | "LEASE_LOST"
  | "LEADERSHIP_ENDED"
  | "DRAIN_TIMEOUT"
  | "TERM_REGRESSED"
  | "FENCED"
  | "FOREIGN_RECORD"
  | "UNSUPPORTED"
  | "NOT_RECORDED"
  | "ALREADY_CLAIMED"
  | "PAUSED"
  | StoreErrorCode;

export type StoreErrorCode =
  | "STORE_UNAVAILABLE"
  | "STORE_THROTTLED"
  | "STORE_TIMEOUT"
  | "STORE_CONFLICT"
  | "STORE_UNAUTHENTICATED"
  | "STORE_DENIED"
  | "STORE_MISSING"
  | "STORE_REJECTED";

export interface LeaseholdErrorDetails {
  readonly election?: string | undefined;
  readonly cause?: unknown;
}

const BRAND = Symbol.for("leasehold.error");
const HELP = "https://github.com/leasehold/leasehold/blob/main/site/pages/errors.md";

/** Reports whether a store says that a failed request may have been carried out. False for a foreign error, which cannot say. */
export function mayHaveBeenApplied(error: unknown): boolean {
  return (error as Partial<StoreError> | undefined)?.mayHaveBeenApplied === true;
}

/** As {@link mayHaveBeenApplied}, and true for a foreign error. */
export function isUnknown(error: unknown): boolean {
  return !isLeaseholdError(error) || mayHaveBeenApplied(error);
}

/** The base of every error of Leasehold. Test by {@link isLeaseholdError}: two copies of this package may be installed. */
export class LeaseholdError extends Error {
  /** Stable. Switch on it rather than on messages. */
  readonly code: LeaseholdErrorCode;
  readonly election: string | undefined;
  /** The address of the page that says what the code means and what to do. Node prints it after the stack. */
  readonly help: string;

  static {
    Object.defineProperty(this.prototype, BRAND, { value: true });
  }

  constructor(code: LeaseholdErrorCode, message: string, details: LeaseholdErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.election = details.election;
    this.help = `${HELP}#${code.toLowerCase()}`;
  }

  /** Returns the fields that structured logging prints. Without this method an Error's own message would be left out. */
  toJSON(): Readonly<Record<string, unknown>> {
    return { ...(this as object), message: this.message };
  }
}

/** Reports whether `error` is one of Leasehold's, from any copy of the package, and has `code`, if that is given. */
export function isLeaseholdError(error: unknown, code?: LeaseholdErrorCode): error is LeaseholdError {
  return (
    typeof error === "object" &&
    error !== null &&
    BRAND in error &&
    (code === undefined || (error as { code?: unknown }).code === code)
  );
}

/** An option, a name or a client that cannot work. Usually thrown before any request. The message says what to do. */
export class ConfigurationError extends LeaseholdError {
  constructor(message: string, details?: LeaseholdErrorDetails) {
    super("CONFIGURATION", message, details);
  }
}

/** Reports whether an error means that the caller's options or store can never work. */
export function isMisuse(error: unknown): boolean {
  return isLeaseholdError(error, "CONFIGURATION") || isLeaseholdError(error, "UNSUPPORTED");
}

/** The failures that a retry does not fix. Somebody has to grant a right, create a table, or correct a name. */
const REFUSALS: readonly LeaseholdErrorCode[] = ["STORE_UNAUTHENTICATED", "STORE_DENIED", "STORE_MISSING", "STORE_REJECTED"];

/** Reports whether the store failed. False if it was used wrongly, or if its record is not a lease of Leasehold's. */
export function isStoreFailure(error: unknown): boolean {
  return !isLeaseholdError(error) || isStoreError(error);
}

export function isStoreError(error: unknown): error is StoreError {
  return isLeaseholdError(error) && error.code.startsWith("STORE_");
}

/** Reports whether the service refuses in a way that only people can fix. */
export function isRefusal(error: unknown): boolean {
  return isLeaseholdError(error) && REFUSALS.includes(error.code);
}

/** Reports whether the store may recover: its failure may pass, and is no mistake in the configuration. */
export function isOutage(error: unknown): error is StoreError {
  return isStoreError(error) && !isRefusal(error);
}

/** The caller's signal had aborted before the call began. Nothing was sent. The `cause` is the signal's reason. */
export class AlreadyAbortedError extends LeaseholdError {
  constructor(call: string, signal: AbortSignal, election?: string) {
    const message = `${call} was given a signal that had already aborted; nothing was sent. Pass a live signal, or do not call.`;
    super("ALREADY_ABORTED", message, { election, cause: signal.reason });
  }
}

/** A second `run`, `campaign` or `tryRun` on an elector, while one is under way. */
export class ElectorBusyError extends LeaseholdError {
  constructor(election: string, call: string, busyWith: string) {
    const advice = "An elector does one thing at a time: wait for it to settle, or make a second Elector.";
    super("ELECTOR_BUSY", `${call} on the elector of '${election}', which is busy with ${busyWith}. ${advice}`, { election });
  }
}

/**
 * The reason for which a lease was lost.
 * - `renew-deadline`: no renewal was confirmed in time; the term ends while the lease still stands.
 * - `expired`: the leader's own deadline passed, because it was frozen or the store did not answer.
 * - `taken`: another candidate holds it, or the record no longer has our `termId`.
 * - `broken`: an administrator broke it.
 * - `missing`: the record is gone.
 */
export type LossReason = "renew-deadline" | "expired" | "taken" | "broken" | "missing";

/** The lease was lost. This is the reason of `leadership.signal`, and `assertValid()` throws it. */
export class LeaseLostError extends LeaseholdError {
  readonly reason: LossReason;
  readonly term: number;

  constructor(election: string, term: number, reason: LossReason, explanation: string, cause?: unknown) {
    super("LEASE_LOST", `Leadership of '${election}' (term ${term}) is lost: ${explanation}`, { election, cause });
    this.reason = reason;
    this.term = term;
  }
}

/** The reason of an end other than a loss. `out-of-time`: the platform is about to end this function. */
export type EndReason = "resigned" | "released" | "stalled" | "transferred" | "completed" | "out-of-time";

/** The leadership was given up on purpose. The reason of `leadership.signal` after `resign()`, a stall or a transfer. */
export class LeadershipEndedError extends LeaseholdError {
  readonly reason: EndReason;
  readonly term: number;

  constructor(election: string, term: number, reason: EndReason, explanation: string) {
    super("LEADERSHIP_ENDED", `Leadership of '${election}' (term ${term}) has ended: ${explanation}`, { election });
    this.reason = reason;
    this.term = term;
  }
}

/** A stopping leader's task had not settled after `drainTimeoutMs`. The lease was not released: it expires by itself. */
export class DrainTimeoutError extends LeaseholdError {
  readonly term: number;

  constructor(election: string, term: number, waitedMs: number) {
    const pending = `The task leading '${election}' (term ${term}) was still pending ${Math.round(waitedMs)} ms after its signal aborted.`;
    const advice =
      "The lease was left to expire, so that no successor starts beside the task. Make the task heed leadership.signal, or raise drainTimeoutMs. " +
      "A task that awaits stop() or resign() waits for itself: let it return instead.";
    super("DRAIN_TIMEOUT", `${pending} ${advice}`, { election });
    this.term = term;
  }
}

/** The store shows a lower term than this process, or the fence, has seen, so that terms would repeat. */
export class TermRegressedError extends LeaseholdError {
  readonly foundTerm: number;
  readonly highestTermSeen: number;

  /** `remedy` replaces the advice to set `minTerm`. */
  constructor(election: string, foundTerm: number, highestTermSeen: number, remedy?: string, seenBy = "this process") {
    const then =
      remedy ??
      `the record was deleted, restored or rewritten. Nobody here leads until an administrator sets minTerm to more than ${highestTermSeen}, and than any term a fenced resource has seen: by store.repair(), or by the elector's option.`;
    const message = `The store shows term ${foundTerm} for '${election}', but ${seenBy} has seen term ${highestTermSeen}: ${then}`;
    super("TERM_REGRESSED", message, { election });
    this.foundTerm = foundTerm;
    this.highestTermSeen = highestTermSeen;
  }
}

/** A fenced write of a stale leader was refused. Nothing was written, unless `cause` is set: an earlier try then got no reply. */
export class FencedError extends LeaseholdError {
  readonly term: number;
  /** The term that the resource has accepted, where the store shows it. */
  readonly currentTerm: number | undefined;

  constructor(election: string, term: number, currentTerm: number | undefined, resource: string, cause?: unknown) {
    const why = currentTerm === term ? "that leadership has ended" : `it belongs to term ${currentTerm}`;
    const written =
      cause === undefined ? "Nothing was written." : "An earlier try got no reply; it is unknown whether that try wrote.";
    const refused = `A write to ${resource} as leader of '${election}' in term ${term} was refused`;
    super("FENCED", `${refused}${currentTerm === undefined ? "" : `: ${why}`}. ${written}`, { election, cause });
    this.term = term;
    this.currentTerm = currentTerm;
  }
}

/** The record of the election in the store is not a lease of Leasehold's. It is never overwritten. */
export class ForeignRecordError extends LeaseholdError {
  readonly problem: string;

  constructor(election: string, place: string, problem: string) {
    const advice = "It was left untouched. Use another name, or remove it by hand if nobody owns it.";
    super("FOREIGN_RECORD", `${place} cannot be read as the lease of '${election}': ${problem}. ${advice}`, { election });
    this.problem = problem;
  }
}

/** The store cannot do what was asked. Its `capabilities` say so beforehand. */
export class UnsupportedError extends LeaseholdError {
  constructor(message: string, details?: LeaseholdErrorDetails) {
    super("UNSUPPORTED", message, details);
  }
}

/** A transfer was refused because an administrator has paused the election. */
export class PausedError extends LeaseholdError {
  constructor(election: string, reason: string) {
    const advice = `Resume it first: store.resume('${election}').`;
    super("PAUSED", `'${election}' is paused ("${reason}"), so that no candidate may acquire it. ${advice}`, { election });
  }
}

/** The task finished, but the store could not record it. Once the claim has run out, another delivery runs the task again. */
export class NotRecordedError extends LeaseholdError {
  readonly attempt: number;

  constructor(occurrence: string, attempt: number, cause: unknown) {
    const why = (cause as Partial<Error>)?.message ?? String(cause);
    const message = `'${occurrence}' is done, by attempt ${attempt}, but that could not be recorded: ${why} Once its claim has run out, another delivery would do it again.`;
    super("NOT_RECORDED", message, { election: occurrence, cause });
    this.attempt = attempt;
  }
}

export interface StoreErrorDetails extends LeaseholdErrorDetails {
  readonly store: string;
  /** The request that failed, for instance `renew`. */
  readonly operation: string;
  /** The time for which the service asks for no further request, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly mayHaveBeenApplied: boolean;
}

/**
 * A request to the store failed.
 * - `STORE_UNAVAILABLE`: no connection, or the service failed.
 * - `STORE_THROTTLED`: the service asks for fewer requests.
 * - `STORE_TIMEOUT`: no reply in time.
 * - `STORE_CONFLICT`: too many writers at once; the next attempt may succeed.
 * - `STORE_UNAUTHENTICATED`: there are no credentials, or the service does not accept them.
 * - `STORE_DENIED`: the credentials do not allow it.
 * - `STORE_MISSING`: the container, table or database does not exist.
 * - `STORE_REJECTED`: the service understood the request and refused it; the same request would fail again.
 */
export class StoreError extends LeaseholdError {
  declare readonly code: StoreErrorCode;
  readonly store: string;
  readonly operation: string;
  readonly retryAfterMs: number | undefined;
  /** True where the outcome is unknown: the service may have carried the request out. */
  readonly mayHaveBeenApplied: boolean;

  constructor(code: StoreErrorCode, message: string, details: StoreErrorDetails) {
    super(code, message, details);
    this.store = details.store;
    this.operation = details.operation;
    this.retryAfterMs = details.retryAfterMs;
    this.mayHaveBeenApplied = details.mayHaveBeenApplied;
  }
}
