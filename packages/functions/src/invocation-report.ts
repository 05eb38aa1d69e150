import { type Clock, Journal, type LogAttributes } from "@leasehold/core/provider";
import type { Logger, LoggerOption } from "@leasehold/core";
import { summarizeError } from "@leasehold/core/diagnostics";
import type { Invocation } from "./invocation.ts";
import type { NotElected, SkipReason } from "./options.ts";
import type { Platform } from "./platform.ts";

/** The result of an invocation, for one line of a log. It contains nothing of what the event carries. */
export interface Report {
  readonly level: keyof Logger;
  readonly message: string;
  readonly election: string;
  /** True if each delivery names its own election. */
  readonly electionVaries: boolean;
  readonly candidateId?: string | undefined;
  readonly delivery?: string | undefined;
  readonly outcome: "ran" | "skipped" | "failed";
  /** The reason why the delivery was skipped. */
  readonly reason?: SkipReason | undefined;
  /** The candidateId of the leader, if another invocation leads. */
  readonly leader?: string | undefined;
  /** The code of the error with which the invocation failed. */
  readonly error?: string | undefined;
  readonly term?: number | undefined;
  /** The occurrence that was delivered. */
  readonly occurrence?: string | undefined;
  /** The number of missed occurrences that the invocation has done. */
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

/** The reasons that somebody should look at. */
const WARNED: ReadonlySet<SkipReason> = new Set(["unavailable", "missed", "failed"]);

/** Collects the facts of an invocation, and writes them as one line at its end. */
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

  /** Sets the occurrence that the invocation is for. */
  concerns(occurrence: string): void {
    this.#occurrence = occurrence;
  }

  /** Records that a handler has returned: for the delivered work in this term, or for a missed occurrence. */
  did(term: number, isMissed: boolean): void {
    if (isMissed) this.#caughtUp += 1;
    else this.#term = term;
  }

  ran(): void {
    const missed = this.#caughtUp > 0 ? `, and ${this.#caughtUp} missed before it` : "";
    this.#write("info", `Ran '${this.#name}', term ${this.#term}${missed}.`, { outcome: "ran" });
  }

  skipped({ reason, leader }: NotElected): void {
    const who = leader ? ` by '${leader.candidateId}'` : "";
    const level = WARNED.has(reason) ? "warn" : "info";
    const missed = this.#caughtUp > 0 ? ` ${this.#caughtUp} missed before it ran.` : "";
    const message = `Skipped '${this.#name}': ${reason}${who}.${missed}`;
    this.#write(level, message, { outcome: "skipped", reason, leader: leader?.candidateId });
  }

  failed(error: unknown): void {
    const { code } = summarizeError(error);
    this.#write("error", `Failed in '${this.#name}': ${code}.`, { outcome: "failed", error: code });
  }

  get #name(): string {
    return this.#occurrence ?? this.#options.invocation.election;
  }

  #write(level: keyof Logger, message: string, what: Pick<Report, "outcome" | "reason" | "leader" | "error">): void {
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
    const { electionVaries: _, ...shown } = report;
    const line: LogAttributes = { ...shown, ...platform.reportFields?.(report, ...args) };
    if (logger !== undefined) {
      const { level: __, message: ___, ...attributes } = line;
      Journal.to(logger).write(level, message, attributes);
      return;
    }
    try {
      platform.write?.(JSON.stringify(line), ...args);
    } catch {
      // A lost line must not fail the invocation.
    }
  }
}

/**
 * Writes a line to standard output directly, because a platform puts a prefix before the output of `console`. The line has to
 * stay plain JSON.
 */
export function writeToStandardOutput(line: string): void {
  process.stdout.write(`${line}\n`);
}
