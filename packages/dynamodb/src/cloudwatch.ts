import { ConfigurationError, type Elector } from "@leasehold/core";
import {
  systemClock,
  type Clock,
  type Timer,
  holderElapsedMs,
  instantOf,
  Journal,
  StoreWarnings,
  type Instant,
} from "@leasehold/core/provider";
import { ELECTION_DIMENSION, isDimensionValue, metricFields, METRICS_NAMESPACE } from "@leasehold/core/diagnostics";

export { ELECTION_DIMENSION, METRICS_NAMESPACE };

/** The names of the metrics. */
export const METRIC_NAMES: {
  /**
   * 1 while this candidate leads, else 0. Written once a minute and at each change. If the maximum over all candidates is 0, no
   * candidate leads.
   */
  readonly isLeader: "IsLeader";
  /** 1 whenever this candidate starts to lead. The sum is the number of changes of leadership. */
  readonly transitions: "Transitions";
  /**
   * The time between two renewals, divided by `renewDeadlineMs`. Written at each renewal. At 1 the task's signal would have been
   * aborted.
   */
  readonly renewalGapRatio: "RenewalGapRatio";
} = { isLeader: "IsLeader", transitions: "Transitions", renewalGapRatio: "RenewalGapRatio" };

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
 * Writes metrics of a candidate to standard output, as lines of CloudWatch's embedded metric format. On Lambda, and in containers
 * whose output goes to CloudWatch Logs, they become metrics without a request by this process. Every candidate of an election
 * writes the same metrics.
 *
 * @example ```ts using metrics = publishMetrics(elector); await elector.run(task, { signal }); ```
 * @throws {ConfigurationError} for an election whose name CloudWatch refuses. A name must consist of printable ASCII characters.
 */
export function publishMetrics(elector: Elector, options: PublishMetricsOptions = {}): PublishedMetrics {
  if (typeof (elector as Partial<Elector> | undefined)?.on !== "function") {
    throw new ConfigurationError("publishMetrics needs an Elector of @leasehold/core.");
  }
  checkElectionDimension(elector.election);
  const metrics = new ElectorMetrics(elector, options);
  return { stop: () => metrics.stop(), [Symbol.dispose]: () => metrics.stop() };
}

/** @throws {ConfigurationError} unless CloudWatch accepts this election's name as the value of a dimension. */
export function checkElectionDimension(election: string): void {
  if (isDimensionValue(election)) return;
  throw new ConfigurationError(
    `CloudWatch takes printable ASCII characters alone as the value of a dimension, and the election is called ${JSON.stringify(election)}. Give it another name, or do without these metrics.`,
    { election },
  );
}

type Values = Readonly<Partial<Record<(typeof METRIC_NAMES)[keyof typeof METRIC_NAMES], number>>>;

class ElectorMetrics {
  readonly #elector: Elector;
  readonly #clock: Clock;
  readonly #write: (line: string) => void;
  readonly #stops: (() => void)[] = [];
  readonly #warnings = new StoreWarnings();
  #minute: Timer | undefined;
  /** When the lease was last confirmed as this candidate's. */
  #confirmedAt: Instant | undefined;

  constructor(elector: Elector, { write = toStandardOutput, clock = systemClock }: PublishMetricsOptions) {
    this.#elector = elector;
    this.#clock = clock;
    this.#write = write;
    this.#warnings.join(Journal.of(elector));
    this.#stops.push(
      elector.on("startedLeading", ({ term }) => {
        this.#confirmedAt = instantOf(clock);
        this.#publish({ ...this.#isLeader(), Transitions: 1 }, term);
      }),
      elector.on("renewed", ({ term }) => this.#renewed(term)),
      elector.on("stoppedLeading", ({ term }) => this.#publish(this.#isLeader(), term)),
    );
    this.#publish(this.#isLeader());
    this.#everyMinute();
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#minute?.cancel();
  }

  #isLeader(): Values {
    return { IsLeader: this.#elector.isLeader ? 1 : 0 };
  }

  #renewed(term: number): void {
    const now = instantOf(this.#clock);
    const { renewDeadlineMs } = this.#elector.timing;
    // Undefined if these metrics began in the middle of a term.
    if (this.#confirmedAt)
      this.#publish({ RenewalGapRatio: holderElapsedMs(this.#clock, this.#confirmedAt) / renewDeadlineMs }, term);
    this.#confirmedAt = now;
  }

  /** Writes in the middle of each minute of the wall clock. A line that is a little late then still counts for its own minute. */
  #everyMinute(): void {
    const intoMinuteMs = (((this.#clock.wallMs() - MINUTE_MS / 2) % MINUTE_MS) + MINUTE_MS) % MINUTE_MS;
    this.#minute = this.#clock.setTimer(() => {
      this.#everyMinute();
      this.#publish(this.#isLeader());
    }, MINUTE_MS - intoMinuteMs);
  }

  #publish(values: Values, term?: number): void {
    const { election, candidateId } = this.#elector;
    const line = {
      ...metricFields({
        wallMs: this.#clock.wallMs(),
        dimension: [ELECTION_DIMENSION, election],
        metrics: Object.entries(values).map(([name, value]) => ({
          name,
          unit: name === METRIC_NAMES.transitions ? "Count" : "None",
          value,
        })),
      }),
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
}

function toStandardOutput(line: string): void {
  process.stdout.write(line);
}
