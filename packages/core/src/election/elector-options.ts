import type { Clock } from "../time/clock.ts";
import { ConfigurationError, UnsupportedError } from "../reporting/errors.ts";
import type { LeaseStoreCapabilities } from "../store/capabilities.ts";
import type { Expiry, LeaseStore, Reservation } from "../store/lease-store.ts";
import type { LoggerOption } from "../reporting/journal.ts";
import { checkOptions } from "../store/options.ts";
import { checkName, checkReservation, checkValue } from "../store/names.ts";
import { checkStore } from "./observer.ts";
import { duration } from "../store/lease-limits.ts";
import { decideTiming, type Timing, type TimingOptions } from "./timing.ts";

export interface ElectorOptions<Store extends LeaseStore = LeaseStore> extends TimingOptions {
  readonly store: Store;
  /** The name that candidates compete for: 1 to 255 bytes of UTF-8, without control characters. */
  readonly election: string;
  /** A label that people can read. @defaultValue `<host>-<pid>-<random>` */
  readonly candidateId?: string | undefined;
  /** The value that others can read while this candidate leads, for instance its address. */
  readonly value?: string | undefined;
  /** True where a stopping leader releases the lease, rather than leave it to expire. @defaultValue true */
  readonly releaseOnStop?: boolean | undefined;
  /**
   * The consequence of a task that is still pending although its time is up: an `overrun` event, or that and the end of this
   * process (exit code 70). A process whose event loop is blocked cannot end itself. @defaultValue 'report'
   */
  readonly onOverrun?: "report" | "exit" | undefined;
  /**
   * The way to know that another's lease has expired; `store.capabilities.storeClock` says how far a store's clock is trusted.
   * @defaultValue 'store-clock' where that clock is exact, else 'observed'; `tryRun` always uses the clock there is
   */
  readonly expiry?: Expiry | undefined;
  /**
   * The sender of renewals: a timer, or the task itself when it calls `leadership.renew()`, in a process whose timers cannot
   * be relied on (a function). The task's signal aborts at `renewDeadlineMs` either way. @defaultValue 'scheduled'
   */
  readonly renewal?: "scheduled" | "manual" | undefined;
  /**
   * The time after an acquisition for which nobody else may acquire, even if the lease is released before: keeps a late twin
   * from doing a quick task again. A task that throws is not done, and holds nobody back. At most `leaseDurationMs`. @defaultValue 0
   */
  readonly minimumHoldMs?: number | undefined;
  /**
   * The longest that one try of a release may take, of at most two: shorter where the process is about to be frozen or
   * ended. @defaultValue attemptTimeoutMs
   */
  readonly releaseTimeoutMs?: number | undefined;
  /**
   * The group that this candidate is of, and for how long its terms keep the election to that group.
   * @defaultValue none: whoever comes first
   */
  readonly reservation?: Reservation | undefined;
  /** The least term that this candidate may lead: how an administrator heals a record that was lost or restored. */
  readonly minTerm?: number | undefined;
  /**
   * Where to write what happens: `console`, a winston logger, `pinoLogger(pino)`. Without one, the few things that a person
   * must know are process warnings: that the store fails, still fails, answers again; an overrun; a record that cannot be
   * used. `false` silences those, too.
   */
  readonly logger?: LoggerOption;
  /**
   * What `run` and `campaign` do where the store refuses (no rights, no table) before it has ever taken a write of this
   * process: reject after a lease of nothing else, or go on asking. Either warns at once. @defaultValue 'fail-fast'
   */
  readonly startup?: "fail-fast" | "patient" | undefined;
  /** @defaultValue the store's clock */
  readonly clock?: Clock | undefined;
}

/** Each option, by name. */
const OPTIONS: Readonly<Record<keyof ElectorOptions, true>> = {
  store: true,
  election: true,
  candidateId: true,
  value: true,
  leaseDurationMs: true,
  renewIntervalMs: true,
  renewDeadlineMs: true,
  retryPeriodMs: true,
  attemptTimeoutMs: true,
  drainTimeoutMs: true,
  stallTimeoutMs: true,
  cooldownMs: true,
  releaseOnStop: true,
  onOverrun: true,
  expiry: true,
  renewal: true,
  minimumHoldMs: true,
  releaseTimeoutMs: true,
  reservation: true,
  minTerm: true,
  logger: true,
  startup: true,
  clock: true,
};

/**
 * Checks everything that can be known before any request.
 * @throws {ConfigurationError | UnsupportedError} for what cannot work, with the numbers. Returns the durations, decided.
 */
export function checkElectorOptions(options: ElectorOptions): Timing {
  const { store, election, candidateId, value, minTerm, onOverrun, expiry, renewal, reservation } = options;
  checkOptions("Elector", options, OPTIONS);
  checkStore(store);
  checkName("election", election);
  if (candidateId !== undefined) checkName("candidateId", candidateId);
  if (value !== undefined) checkValue(value, store.capabilities.maxValueBytes);
  if (minTerm !== undefined && (!Number.isSafeInteger(minTerm) || minTerm < 1)) {
    throw new ConfigurationError(`minTerm is ${minTerm}; it must be a whole number from 1.`, { election });
  }
  checkChoice("onOverrun", onOverrun, ["report", "exit"]);
  checkChoice("startup", options.startup, ["fail-fast", "patient"]);
  checkChoice("renewal", renewal, ["scheduled", "manual"]);
  checkChoice("expiry", expiry, ["observed", "store-clock"]);
  if (expiry === "store-clock") checkStoreClock(store.capabilities);
  if (reservation) checkReservations(reservation, store);
  const timing = decideTiming(options, store.capabilities);
  checkHold(options.minimumHoldMs, timing.leaseDurationMs);
  if (options.releaseTimeoutMs !== undefined) duration("releaseTimeoutMs", options.releaseTimeoutMs);
  return timing;
}

function checkChoice(name: string, value: string | undefined, [one, other]: readonly [string, string]): void {
  if (value === undefined || value === one || value === other) return;
  throw new ConfigurationError(`${name} is ${JSON.stringify(value)}; it must be '${one}' or '${other}'.`);
}

/** A reservation without a clock to judge it by would keep a whole group out for ever, or for no time. */
function checkReservations(reservation: Reservation, { name, capabilities }: LeaseStore): void {
  checkReservation(reservation);
  if (capabilities.reservation) return;
  throw new UnsupportedError(`${name} has no clock to judge a reservation by; leave 'reservation' out, or use another store.`);
}

function checkHold(minimumHoldMs: number | undefined, leaseDurationMs: number): void {
  if (minimumHoldMs === undefined || duration("minimumHoldMs", minimumHoldMs, 0) <= leaseDurationMs) return;
  throw new ConfigurationError(
    `minimumHoldMs is ${minimumHoldMs}, longer than the lease itself (leaseDurationMs ${leaseDurationMs}); raise leaseDurationMs.`,
  );
}

function checkStoreClock({ storeClock, expiry }: LeaseStoreCapabilities): void {
  if (expiry === "observed" && !storeClock) {
    throw new ConfigurationError("expiry is 'store-clock', and this store has no clock that can be read; leave it out.");
  }
}
