import type { LogAttributes } from "@leasehold/core";
import type { Occurrence } from "@leasehold/core/provider";
import type { DeliverySource } from "./delivery-source.ts";
import type { Report } from "./invocation-report.ts";

/** The facts that a platform gives of an invocation. */
export interface Platform<Args extends readonly unknown[]> {
  /** The names of the options that it has beside those of every gate. */
  readonly options?: readonly string[];
  /** Returns how long until it ends the invocation, in milliseconds. */
  readonly remainingMs: (...args: Args) => number;
  /** Returns the name by which a person finds the invocation again. */
  readonly candidateId?: (...args: Args) => string | undefined;
  /** Returns what names the request, the same at each of its deliveries; nothing of what it carries. */
  readonly delivery?: (...args: Args) => string | undefined;
  /** Returns the occurrence of its schedule. @throws {ConfigurationError} if the event does not name it. */
  readonly occurrence?: (...args: Args) => Occurrence;
  /** The finest instants that its schedules by cron name, in milliseconds: others are those of a rate. */
  readonly cronGrainMs?: number;
  /** Returns what has delivered it, unless that is known to be a schedule, whose ticks may be skipped. */
  readonly unscheduled?: (...args: Args) => DeliverySource | undefined;
  /** Writes the line of an invocation where there is no logger. Without it none is written. */
  readonly write?: (line: string, ...args: Args) => void;
  /** Returns further fields of that line: metrics, say, or what the platform calls its level. */
  readonly reportFields?: (report: Report, ...args: Args) => LogAttributes;
}
