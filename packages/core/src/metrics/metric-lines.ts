import type { Elector } from "../election/elector.ts";
import { ConfigurationError } from "../reporting/errors.ts";
import { Journal, StoreWarnings } from "../reporting/journal.ts";
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
  /**
   * The longest time between two renewals since the previous line, divided by `renewDeadlineMs`. At 1 the task's signal would
   * have been aborted.
   */
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
  const metrics = new MetricLines(elector, options);
  return { stop: () => metrics.stop(), [Symbol.dispose]: () => metrics.stop() };
}

type Values = Readonly<Partial<Record<(typeof METRIC_NAMES)[keyof typeof METRIC_NAMES], number>>>;

class MetricLines {
  readonly #elector: Elector;
  readonly #clock: Clock;
  readonly #write: (line: string) => void;
  readonly #stops: (() => void)[] = [];
  readonly #warnings = new StoreWarnings();
  #minute: Timer | undefined;
  /** The instant at which the lease was last confirmed as this candidate's. */
  #confirmedAt: Instant | undefined;
  #longestGapMs: number | undefined;

  constructor(
    elector: Elector,
    { write = (line) => void process.stdout.write(line), clock = systemClock }: PublishMetricsOptions,
  ) {
    this.#elector = elector;
    this.#clock = clock;
    this.#write = write;
    this.#warnings.join(Journal.of(elector));
    this.#stops.push(
      elector.on("startedLeading", ({ term }) => {
        this.#confirmedAt = instantOf(clock);
        this.#publish({ Transitions: 1 }, term);
      }),
      elector.on("renewed", () => this.#renewed()),
      elector.on("stoppedLeading", ({ term }) => this.#publish({}, term)),
    );
    this.#publish({});
    this.#everyMinute();
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#minute?.cancel();
  }

  /** A poll that is older than a lease shows nothing: its leader may have died since. */
  get #hasLeader(): boolean {
    const { isLeader, lastSeen, timing } = this.#elector;
    return isLeader || (lastSeen?.leader !== undefined && lastSeen.ageMs <= timing.leaseDurationMs);
  }

  #renewed(): void {
    const now = instantOf(this.#clock);
    // Undefined if these metrics began in the middle of a term.
    if (this.#confirmedAt)
      this.#longestGapMs = Math.max(this.#longestGapMs ?? 0, holderElapsedMs(this.#clock, this.#confirmedAt));
    this.#confirmedAt = now;
  }

  /** Writes in the middle of each minute of the wall clock. A line that is a little late then still counts for its own minute. */
  #everyMinute(): void {
    const intoMinuteMs = (((this.#clock.wallMs() - MINUTE_MS / 2) % MINUTE_MS) + MINUTE_MS) % MINUTE_MS;
    this.#minute = this.#clock.setTimer(() => {
      this.#everyMinute();
      this.#publish({});
    }, MINUTE_MS - intoMinuteMs);
  }

  /** @param term a term that begins or ends now. */
  #publish(more: Values, term: number | undefined = this.#elector.health().term): void {
    const { election, candidateId, isLeader, timing } = this.#elector;
    const values: Values = {
      IsLeader: Number(isLeader),
      HasLeader: Number(this.#hasLeader),
      ...more,
      ...(this.#longestGapMs === undefined ? {} : { RenewalGapRatio: this.#longestGapMs / timing.renewDeadlineMs }),
    };
    this.#longestGapMs = undefined;
    const line = {
      ...(isDimensionValue(election) ? this.#format(values) : { [ELECTION_DIMENSION]: election, ...values }),
      // A field for searches in the log. As a dimension it would make a separate metric of each candidate, and each metric costs
      // money.
      CandidateId: candidateId,
      ...(term === undefined ? {} : { Term: term }),
    };
    try {
      this.#write(`${JSON.stringify(line)}\n`);
    } catch (error) {
      // A lost metric must neither end the process nor the leadership.
      const message = `The metrics of the election '${election}' cannot be written: ${String(error)}`;
      this.#warnings.warnOnce("LEASEHOLD_METRICS_NOT_WRITTEN", "", message);
    }
  }

  #format(values: Values): object {
    return metricFields({
      wallMs: this.#clock.wallMs(),
      dimension: [ELECTION_DIMENSION, this.#elector.election],
      metrics: Object.entries(values).map(([name, value]) => ({
        name,
        unit: name === METRIC_NAMES.transitions ? "Count" : "None",
        value,
      })),
    });
  }
}
