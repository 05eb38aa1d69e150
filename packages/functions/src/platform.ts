import type { LogAttributes } from "@leasehold/core/provider";
import type { Occurrence } from "@leasehold/core/occurrences";
import type { DeliverySource } from "./delivery-source.ts";
import type { Report } from "./invocation-report.ts";

/** The facts of an invocation that its platform knows. */
export interface Platform<Args extends readonly unknown[]> {
  /** The names of the options that the platform has besides those of every gate. */
  readonly options?: readonly string[];
  /** Returns the time until the platform ends the invocation, in milliseconds. */
  readonly remainingMs: (...args: Args) => number;
  /** Returns the name by which a person finds the invocation again. */
  readonly candidateId?: (...args: Args) => string | undefined;
  /** Returns the name of the request, the same at each of its deliveries. It contains nothing of what the event carries. */
  readonly delivery?: (...args: Args) => string | undefined;
  /** Returns the occurrence of the schedule. @throws {ConfigurationError} if the event does not name it. */
  readonly occurrence?: (...args: Args) => Occurrence;
  /** The finest step of the platform's cron expressions, in milliseconds. A time between two steps comes from a rate. */
  readonly cronGrainMs?: number;
  /** Returns the source of the event. Returns `undefined` for a schedule, whose ticks may be skipped. */
  readonly unscheduled?: (...args: Args) => DeliverySource | undefined;
  /** Writes the line of an invocation if there is no logger. Without this method no line is written then. */
  readonly write?: (line: string, ...args: Args) => void;
  /** Returns further fields of that line, for instance metrics, or the platform's name for the level. */
  readonly reportFields?: (report: Report, ...args: Args) => LogAttributes;
}
