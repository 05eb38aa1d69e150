import type { Clock, LogAttributes, LoggerOption, LogLevel } from "@leasehold/core";
import { Journal, toldError } from "@leasehold/core/provider";
import type { Invocation } from "./invocation.ts";
import type { NotElected, SkipReason } from "./options.ts";
import type { Platform } from "./platform.ts";

/** What an invocation has done, as one line of a log tells it. Nothing of what its event carries is in it. */
export interface Report {
  readonly level: LogLevel;
  readonly message: string;
  readonly election: string;
  /** True where each delivery names its own election. */
  readonly electionVaries: boolean;
  readonly candidateId?: string | undefined;
  readonly delivery?: string | undefined;
  readonly outcome: "ran" | "skipped" | "failed";
  /** Why it skipped. */
  readonly reason?: SkipReason | undefined;
  /** Who leads, where another does. */
  readonly leader?: string | undefined;
  /** The code of the error with which it failed. */
  readonly error?: string | undefined;
  readonly term?: number | undefined;
  /** The occurrence that it was delivered for. */
  readonly occurrence?: string | undefined;
  /** The number of missed occurrences that it has done. */
  readonly caughtUp: number;
  readonly durationMs: number;
}

export interface ReportOptions<Args extends readonly unknown[]> {
  readonly platform: Pick<Platform<Args>, "write" | "reportFields">;
  readonly invocation: Invocation<Args>;
  readonly electionVaries: boolean;
  readonly logger: LoggerOption;
  readonly clock: Clock;
}

/** Takes down what an invocation does, and tells it in one line at its end. */
export class InvocationReport<Args extends readonly unknown[]> {
  readonly #options: ReportOptions<Args>;
  readonly #beganMs: number;
  #occurrence: string | undefined;
  #term: number | undefined;
  #caughtUp = 0;

  constructor(options: ReportOptions<Args>) {
    this.#options = options;
    this.#beganMs = options.clock.monotonicMs();
  }

  /** It is for this occurrence. */
  concerns(occurrence: string): void {
    this.#occurrence = occurrence;
  }

  /** A handler has come to its end, in this term; or that of a missed occurrence has. */
  did(term: number, isMissed: boolean): void {
    if (isMissed) this.#caughtUp += 1;
    else this.#term = term;
  }

  ran(): void {
    const missed = this.#caughtUp > 0 ? `, and ${this.#caughtUp} missed before it` : "";
    this.#tell("info", `Ran '${this.#name}', term ${this.#term}${missed}.`, { outcome: "ran" });
  }

  skipped({ reason, leader }: NotElected): void {
    const who = leader ? ` by '${leader.candidateId}'` : "";
    const level = reason === "unavailable" ? "warn" : "info";
    const missed = this.#caughtUp > 0 ? ` ${this.#caughtUp} missed before it ran.` : "";
    const message = `Skipped '${this.#name}': ${reason}${who}.${missed}`;
    this.#tell(level, message, { outcome: "skipped", reason, leader: leader?.candidateId });
  }

  failed(error: unknown): void {
    const { code } = toldError(error);
    this.#tell("error", `Failed in '${this.#name}': ${code}.`, { outcome: "failed", error: code });
  }

  get #name(): string {
    return this.#occurrence ?? this.#options.invocation.election;
  }

  #tell(level: LogLevel, message: string, what: Pick<Report, "outcome" | "reason" | "leader" | "error">): void {
    const { platform, invocation, electionVaries, logger, clock } = this.#options;
    const { election, candidateId, delivery, args } = invocation;
    const report: Report = {
      level,
      message,
      election,
      electionVaries,
      candidateId,
      delivery,
      ...what,
      term: this.#term,
      occurrence: this.#occurrence,
      caughtUp: this.#caughtUp,
      durationMs: Math.round(clock.monotonicMs() - this.#beganMs),
    };
    const { electionVaries: _, ...told } = report;
    const line: LogAttributes = { ...told, ...platform.reportFields?.(report, ...args) };
    if (logger !== undefined) {
      const { level: __, message: ___, ...attributes } = line;
      Journal.to(logger).write(level, message, attributes);
      return;
    }
    try {
      platform.write?.(JSON.stringify(line), ...args);
    } catch {
      // A line that is lost must not fail the invocation.
    }
  }
}

/** Writes a line to standard output, past whatever a platform puts before what `console` writes: it is JSON as a whole. */
export function writeToStandardOutput(line: string): void {
  process.stdout.write(`${line}\n`);
}
