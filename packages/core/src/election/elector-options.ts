import type { Clock } from "../time/clock.ts";
import { ConfigurationError, UnsupportedError } from "../reporting/errors.ts";
import type { Expiry, LeaseStore, Reservation } from "../store/lease-store.ts";
import type { Journal, LoggerOption } from "../reporting/journal.ts";
import { checkChoice, checkOptions, defineOptions } from "../store/options.ts";
import { checkName, checkReservation, checkTerm, checkValue } from "../store/names.ts";
import { checkStore } from "./observer.ts";
import { duration } from "../store/lease-limits.ts";
import type { Cooldown } from "./cooldown.ts";
import type { StoreHealth } from "./store-health.ts";
import { decideTiming, type Timing, type TimingOptions } from "./timing.ts";

export interface ElectorOptions<Store extends LeaseStore = LeaseStore> extends TimingOptions {
  readonly store: Store;
  /** The name that candidates compete for: 1 to 255 bytes of UTF-8, without control characters. */
  readonly election: string;
  /** A label that people can read. @defaultValue `<host>-<pid>-<random>` */
  readonly candidateId?: string | undefined;
  /** The value that observers can read while this candidate leads, for instance its address. */
  readonly value?: string | undefined;
  /** True if a stopping leader releases the lease, false if it leaves the lease to expire. @defaultValue true */
  readonly releaseOnStop?: boolean | undefined;
  /** `exit`: a task that outlasts its drain ends the process (code 70), if the event loop runs. @defaultValue 'report' */
  readonly onOverrun?: "report" | "exit" | undefined;
  /**
   * The way to find that a lease has expired. `tryRun` uses the store's clock if there is one.
   * @defaultValue 'store-clock' if that clock is exact, else 'observed'
   */
  readonly expiry?: Expiry | undefined;
  /** `manual`: the task renews by `leadership.renew()`, where timers are not reliable (a function). @defaultValue 'scheduled' */
  readonly renewal?: "scheduled" | "manual" | undefined;
  /**
   * The time after an acquisition in which nobody else may acquire, even after a release. It keeps a late duplicate from doing a
   * quick task again. A task that throws leaves no hold. At most `leaseDurationMs`. @defaultValue 0
   */
  readonly minimumHoldMs?: number | undefined;
  /** The limit of each of a release's two tries. Lower it for a process that may be frozen. @defaultValue attemptTimeoutMs */
  readonly releaseTimeoutMs?: number | undefined;
  /** The group of this candidate, and the time for which its terms keep the election to that group. @defaultValue none */
  readonly reservation?: Reservation | undefined;
  /** The lowest term that this candidate may lead. An administrator sets it after a record was lost or restored. */
  readonly minTerm?: number | undefined;
  /** The destination of log lines: `console`, winston or `pinoLogger(pino)`. None: process warnings. `false`: silence. */
  readonly logger?: LoggerOption;
  /**
   * The reaction of `run` and `campaign` to a store that only refuses (no rights, no table): reject after a whole lease, or keep
   * trying. Both warn at once. The choice applies until the first accepted write of this process in this election.
   * @defaultValue 'fail-fast'
   */
  readonly startup?: "fail-fast" | "patient" | undefined;
  /** @defaultValue the store's clock */
  readonly clock?: Clock | undefined;
}

/** The parts of one elector that its classes share. */
export interface ElectorParts {
  readonly election: string;
  readonly candidateId: string;
  readonly wishes: ElectorOptions;
  readonly timing: Timing;
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly contact: StoreHealth;
  readonly cooldown: Cooldown;
  readonly journal: Journal;
}

const OPTIONS = defineOptions<ElectorOptions>()(
  "store election candidateId value releaseOnStop onOverrun expiry renewal minimumHoldMs releaseTimeoutMs reservation minTerm",
  "logger startup clock leaseDurationMs renewIntervalMs renewDeadlineMs retryPeriodMs attemptTimeoutMs drainTimeoutMs",
  "stallTimeoutMs cooldownMs",
);

/** Checks everything that can be checked before a request. @throws {ConfigurationError | UnsupportedError} with the numbers. */
export function checkElectorOptions(options: ElectorOptions): Timing {
  const { store, election, candidateId, value, minTerm, onOverrun, expiry, renewal, reservation, minimumHoldMs } = options;
  checkOptions("Elector", options, OPTIONS);
  checkStore(store);
  checkName("election", election);
  if (candidateId !== undefined) checkName("candidateId", candidateId);
  if (value !== undefined) checkValue(value, store.capabilities.maxValueBytes);
  checkTerm("minTerm", minTerm);
  checkChoice("onOverrun", onOverrun, ["report", "exit"]);
  checkChoice("startup", options.startup, ["fail-fast", "patient"]);
  checkChoice("renewal", renewal, ["scheduled", "manual"]);
  checkChoice("expiry", expiry, ["observed", "store-clock"]);
  if (expiry === "store-clock" && store.capabilities.expiry === "observed" && !store.capabilities.storeClock) {
    throw new ConfigurationError("expiry is 'store-clock', and this store has no clock that can be read; leave it out.");
  }
  if (reservation) checkReservation(reservation);
  // Without a clock that shows its age, a reservation would keep other groups out for ever, or not at all.
  if (reservation && !store.capabilities.reservation) {
    throw new UnsupportedError(
      `${store.name} has no clock to judge a reservation by; leave 'reservation' out, or use another store.`,
    );
  }
  const timing = decideTiming(options, store.capabilities);
  const { leaseDurationMs } = timing;
  if (minimumHoldMs !== undefined && duration("minimumHoldMs", minimumHoldMs, 0) > leaseDurationMs) {
    throw new ConfigurationError(
      `minimumHoldMs is ${minimumHoldMs}, longer than the lease itself (leaseDurationMs ${leaseDurationMs}); raise leaseDurationMs.`,
    );
  }
  if (options.releaseTimeoutMs !== undefined) duration("releaseTimeoutMs", options.releaseTimeoutMs);
  return timing;
}
