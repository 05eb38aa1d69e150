import type { Elector } from "../election/elector.ts";
import { ConfigurationError } from "../reporting/errors.ts";
import { Journal } from "../reporting/journal.ts";
import { ELECTION_DIMENSION, isDimensionValue, metricFields } from "../reporting/metric-line.ts";
import { holderElapsedMs, instantOf, systemClock, type Clock, type Instant, type Timer } from "../time/clock.ts";

export const METRIC_NAMES = {
  /** 1 while this candidate leads, else 0. */
  isLeader: "IsLeader",
  /**
   * 1 while this candidate leads, or while its last poll showed a leader and is not older than a lease; else 0. If the maximum over
   * the candidates of one region is 0, no candidate of any region leads.
   */
  hasLeader: "HasLeader",
  /** 1 whenever this candidate starts to lead. The sum is the number of changes of leadership. */
  transitions: "Transitions",
  /** The longest time between two renewals since the previous line, divided by `renewDeadlineMs`. At 1 the signal aborts. */
  renewalGapRatio: "RenewalGapRatio",
} as const;

export interface PublishMetricsOptions {
  /** Receives one line, which ends with a line feed. @defaultValue writes to standard output */
  readonly write?: ((line: string) => void) | undefined;
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

/** Metrics that are being written. */
export interface PublishedMetrics extends Disposable {
  /** Stops the metrics, and the timer that keeps the process alive. May be called again. */
  stop(): void;
}

const MINUTE_MS = 60_000;

/**
 * Writes the metrics of a candidate to standard output. It writes a line of JSON once a minute, and at each start and end of a
 * term. The alerts for all clouds count these lines. The lines are in CloudWatch's embedded metric format, so that CloudWatch
 * Logs makes metrics of them without a request by this process. CloudWatch takes only names of printable ASCII characters; for
 * another election the line has the same values without that format's part. Every candidate of an election writes these lines.
 *
 * @example ```ts using metrics = publishMetrics(elector); await elector.run(task, { signal }); ```
 */
export function publishMetrics(elector: Elector, options: PublishMetricsOptions = {}): PublishedMetrics {
  if (typeof (elector as Partial<Elector> | undefined)?.on !== "function") {
    throw new ConfigurationError("publishMetrics needs an Elector of @leasehold/core.");
  }
  const { write = (line: string) => void process.stdout.write(line), clock = systemClock } = options;
  const { election, candidateId, timing } = elector;
  const stops: (() => void)[] = [];
  let minute: Timer | undefined;
  /** The instant at which the lease was last confirmed as this candidate's. Undefined if no term began meanwhile. */
  let confirmedAt: Instant | undefined;
  let longestGapMs: number | undefined;

  /** @param term a term that begins or ends now. */
  const publish = (more: Values, term: number | undefined = elector.health().term): void => {
    const values: Values = {
      IsLeader: Number(elector.isLeader),
      HasLeader: Number(hasLeader(elector)),
      ...more,
      ...(longestGapMs === undefined ? {} : { RenewalGapRatio: longestGapMs / timing.renewDeadlineMs }),
    };
    longestGapMs = undefined;
    const line = {
      ...(isDimensionValue(election)
        ? embedded(election, clock.wallMs(), values)
        : { [ELECTION_DIMENSION]: election, ...values }),
      // Only a field: as a dimension it would make a metric of each candidate, and each metric costs money.
      CandidateId: candidateId,
      ...(term === undefined ? {} : { Term: term }),
    };
    try {
      write(`${JSON.stringify(line)}\n`);
    } catch (error) {
      // A lost metric must neither end the process nor the leadership.
      const message = `The metrics of the election '${election}' cannot be written: ${String(error)}`;
      Journal.of(elector).warnOnce("LEASEHOLD_METRICS_NOT_WRITTEN", "", message);
    }
  };
  /** Writes in the middle of each minute of the wall clock. A line that is a little late then still counts for its own minute. */
  const everyMinute = (): void => {
    const intoMinuteMs = (((clock.wallMs() - MINUTE_MS / 2) % MINUTE_MS) + MINUTE_MS) % MINUTE_MS;
    minute = clock.setTimer(() => {
      everyMinute();
      publish({});
    }, MINUTE_MS - intoMinuteMs);
  };
  const stop = (): void => {
    for (const off of stops.splice(0)) off();
    minute?.cancel();
  };

  stops.push(
    elector.on("startedLeading", ({ term }) => {
      confirmedAt = instantOf(clock);
      publish({ Transitions: 1 }, term);
    }),
    elector.on("renewed", () => {
      if (confirmedAt) longestGapMs = Math.max(longestGapMs ?? 0, holderElapsedMs(clock, confirmedAt));
      confirmedAt = instantOf(clock);
    }),
    elector.on("stoppedLeading", ({ term }) => publish({}, term)),
  );
  publish({});
  everyMinute();
  return { stop, [Symbol.dispose]: stop };
}

type Values = Readonly<Partial<Record<(typeof METRIC_NAMES)[keyof typeof METRIC_NAMES], number>>>;

/** A poll that is older than a lease shows nothing: its leader may have died since. */
function hasLeader({ isLeader, lastSeen, timing }: Elector): boolean {
  return isLeader || (lastSeen?.leader !== undefined && lastSeen.ageMs <= timing.leaseDurationMs);
}

function embedded(election: string, wallMs: number, values: Values): object {
  const metrics = Object.entries(values).map(([name, value]) => {
    return { name, unit: name === METRIC_NAMES.transitions ? "Count" : "None", value } as const;
  });
  return metricFields({ wallMs, dimension: [ELECTION_DIMENSION, election], metrics });
}
