import { ConfigurationError } from "./errors.ts";
import type { LogAttributes, Logger, LogLevel } from "./logger.ts";
import { summarizeError } from "./redact.ts";

export type WarningCode =
  | "LEASEHOLD_STORE_FAILED"
  | "LEASEHOLD_STORE_STILL_FAILING"
  | "LEASEHOLD_STORE_RECOVERED"
  | "LEASEHOLD_WATCH_DEAF"
  | "LEASEHOLD_TABLE_NOT_CHECKED"
  | "LEASEHOLD_METRICS_NOT_WRITTEN"
  | "LEASEHOLD_VOTING"
  | "LEASEHOLD_STORE_SETTINGS"
  | "LEASEHOLD_MEMBER_FAILED"
  | "LEASEHOLD_MEMBER_RECOVERED"
  | "LEASEHOLD_RECORD_UNUSABLE"
  | "LEASEHOLD_OVERRUN"
  | "LEASEHOLD_BLOCKED"
  | "LEASEHOLD_PAUSED"
  | "LEASEHOLD_TASK_RETURNED"
  | "LEASEHOLD_WAITS_FOR_ITSELF"
  | "LEASEHOLD_NOT_WHEN_DUE"
  | "LEASEHOLD_TICK_FAILED"
  | "LEASEHOLD_OCCURRENCES_WAIT"
  | "LEASEHOLD_MISSED"
  | "LEASEHOLD_DELIVERY_COUNTED"
  | "LEASEHOLD_LISTENER_FAILED"
  | "LEASEHOLD_FLEET"
  | "LEASEHOLD_SHARD_FAILED"
  | "LEASEHOLD_LOCAL_STORE"
  | "LEASEHOLD_NETWORK_FILE"
  | "LEASEHOLD_SLOW_RECONNECT"
  | "LEASEHOLD_LOGGER_FAILED";

/** `undefined`: the few lines that a person must see become process warnings. `false`: nothing is written. */
export type LoggerOption = Logger | false | undefined;

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Writes the lines for one logger. Each logger has one journal, so that a line for it can be written just once. */
export class Journal {
  static readonly #byLogger = new WeakMap<Logger, Journal>();
  static readonly #toWarnings = new Journal(undefined);
  static readonly #silent = new Journal(false);
  static readonly #byOwner = new WeakMap<object, Journal>();
  readonly #logger: LoggerOption;
  #loggerFailed: string | undefined;
  readonly #warned = new Set<string>();

  private constructor(logger: LoggerOption) {
    this.#logger = logger;
  }

  /** Returns the journal of a logger. @throws {ConfigurationError} for a value that is no logger. */
  static to(logger: LoggerOption): Journal {
    if (logger === undefined) return Journal.#toWarnings;
    if (logger === false) return Journal.#silent;
    checkLogger(logger);
    const journal = Journal.#byLogger.get(logger) ?? new Journal(logger);
    Journal.#byLogger.set(logger, journal);
    return journal;
  }

  /** Returns the journal of an elector, for code that writes lines beside it. */
  static of(elector: object): Journal {
    return Journal.#byOwner.get(elector) ?? Journal.#toWarnings;
  }

  keptFor(elector: object): void {
    Journal.#byOwner.set(elector, this);
  }

  get isSilent(): boolean {
    return this.#logger === false;
  }

  write(level: LogLevel, message: string, attributes: LogAttributes): void {
    if (!this.#logger) return;
    const failed = (error: unknown): void => {
      const text = `The logger threw, and was ignored: ${summarizeError(error).message}`;
      if (text !== this.#loggerFailed) emitWarning("LEASEHOLD_LOGGER_FAILED", text);
      this.#loggerFailed = text;
    };
    try {
      const written: unknown = this.#logger[level](message, attributes);
      if (written instanceof Promise) written.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  /** Writes a line that a person must see. Without a logger it becomes a process warning. */
  warn(code: WarningCode, level: LogLevel, message: string, attributes: LogAttributes): void {
    if (this.#logger === undefined) emitWarning(code, message);
    else this.write(level, message, attributes);
  }

  /** As `warn`, but once for each code and cause in this process. */
  warnOnce(code: WarningCode, cause: string, message: string): void {
    const key = `${code} ${cause}`;
    if (this.#warned.has(key)) return;
    this.#warned.add(key);
    this.warn(code, "warn", message, {});
  }
}

function emitWarning(code: WarningCode, message: string): void {
  process.emitWarning(message, { type: "LeaseholdWarning", code });
}

function checkLogger(logger: unknown): asserts logger is Logger {
  const missing = LEVELS.filter((level) => typeof (logger as Partial<Logger> | null)?.[level] !== "function");
  if (missing.length === 0) return;
  throw new ConfigurationError(
    `logger has no ${missing.join(", no ")}. Give it console, a winston logger, pinoLogger(pino), or false for silence.`,
  );
}

/** The warnings of one store, for the loggers of its electors and observers. Without any they are process warnings. */
export class StoreWarnings {
  readonly #journals = new Set<Journal>();

  join(journal: Journal): void {
    this.#journals.add(journal);
  }

  warn(code: WarningCode, message: string): void {
    for (const journal of this.#readers) journal.warn(code, "warn", message, {});
  }

  /** Writes a warning once for each cause: to each logger once in this process. */
  warnOnce(code: WarningCode, cause: string, message: string): void {
    for (const journal of this.#readers) journal.warnOnce(code, cause, message);
  }

  get #readers(): Iterable<Journal> {
    return this.#journals.size > 0 ? this.#journals : [Journal.to(undefined)];
  }
}
