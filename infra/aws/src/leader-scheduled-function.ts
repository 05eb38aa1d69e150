import { ConfigurationError } from "@leasehold/core";
import { checkName, ELECTION_DIMENSION, isDimensionValue, METRICS_NAMESPACE } from "@leasehold/core/provider";
import { Metric, Stats, type MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { Role, ServicePrincipal, type IGrantable, type IPrincipal, type IRole } from "aws-cdk-lib/aws-iam";
import { Architecture, Runtime } from "aws-cdk-lib/aws-lambda";
import { SqsDestination } from "aws-cdk-lib/aws-lambda-destinations";
import { NodejsFunction, OutputFormat, type BundlingOptions } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import {
  ContextAttribute,
  Schedule,
  ScheduleTargetInput,
  type IScheduleTarget,
  type ScheduleExpression,
} from "aws-cdk-lib/aws-scheduler";
import { LambdaInvoke } from "aws-cdk-lib/aws-scheduler-targets";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Duration, Stack, Token, Validations, type CfnElement, type CfnResource } from "aws-cdk-lib/core";
import { Construct } from "constructs";
import type { ILeaseTable } from "./lease-table-base.ts";
import { warnOfRate } from "./rate-warning.ts";
import { retryWindow, type RetryWindow } from "./retry-window.ts";
import { checkEnvironment, tableEnvironment } from "./table-environment.ts";

/** The settings of a {@link LeaderScheduledFunction}. */
export interface LeaderScheduledFunctionProps {
  /** The table of leases. The function may compete in `election` there, and in nothing else. */
  readonly table: ILeaseTable;
  /** The election, the same in every region. The handler finds it in the environment variable `ELECTION`. */
  readonly election: string;
  /**
   * When it is invoked. `cron(...)` and `at(...)` mean the same times in every region; `rate(...)` counts from when each
   * region's schedule was made, so that there is a warning where there are two.
   */
  readonly schedule: ScheduleExpression;
  /** The file that exports the handler, wrapped in `onlyAsLeader` of `@leasehold/functions/aws-lambda`. */
  readonly entry: string;
  /**
   * The name of the handler that `entry` exports.
   * @default 'handler'
   */
  readonly handler?: string;
  /**
   * After how long Lambda ends an invocation. Its lease is as long by default, and so is the wait after one that died.
   * @default Duration.minutes(1)
   */
  readonly timeout?: Duration;
  /**
   * The schedule's name. It is part of what `oncePerTick` tells occurrences by, so it has to be the same in every region.
   * @default - the election's name, where a schedule can be called that
   */
  readonly scheduleName?: string;
  /**
   * How often Lambda invokes the function again after it has failed or died, 0 to 2: a minute later, and two minutes after that.
   * Where that would be before the lease of one that died has run out, the function is told to wait: `LEASE_WAIT_MS`. With 0
   * the dead-letter queue has what failed, and nothing is tried again.
   * @default 2
   */
  readonly retryAttempts?: number;
  /**
   * How late an invocation may be. After that, it goes to the dead-letter queue. It must reach to the last attempt.
   * @default Duration.hours(1)
   */
  readonly maxEventAge?: Duration;
  /**
   * Further environment variables, beside `LEASE_TABLE`, `LEASE_TABLE_REGION`, `ELECTION` and `LEASE_WAIT_MS`.
   * @default - none
   */
  readonly environment?: Record<string, string>;
  /**
   * The function's memory, in MB.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * How long its log is kept.
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays;
  /**
   * More options of esbuild.
   * @default - an ES module, without the AWS SDK, which Lambda has
   */
  readonly bundling?: BundlingOptions;
}

/**
 * A function that EventBridge Scheduler invokes, and that proceeds only as leader; with its own role, log group and
 * dead-letter queue. The schedule's event has its time, which `oncePerTick` needs.
 *
 * @example
 * ```ts
 * new LeaderScheduledFunction(this, "HourlyReport", {
 *   table, election: "hourly-report", schedule: ScheduleExpression.cron({ minute: "0" }), entry: "hourly-report.ts",
 * });
 * ```
 */
export class LeaderScheduledFunction extends Construct implements IGrantable {
  readonly function: NodejsFunction;
  readonly schedule: Schedule;
  /** The queue of invocations that could not be delivered, or failed at every attempt. */
  readonly deadLetterQueue: Queue;
  readonly logGroup: LogGroup;
  readonly role: Role;
  readonly grantPrincipal: IPrincipal;
  readonly election: string;

  /** @throws {ConfigurationError} for what cannot work. */
  constructor(scope: Construct, id: string, props: LeaderScheduledFunctionProps) {
    super(scope, id);
    const { table, election, timeout = Duration.minutes(1), retryAttempts = 2, maxEventAge = Duration.hours(1) } = props;
    const window = checkSchedule(props, timeout, retryAttempts, maxEventAge);
    const environment = tableEnvironment(this, table, election);
    this.deadLetterQueue = new Queue(this, "DeadLetters", {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    this.logGroup = new LogGroup(this, "Log", { retention: props.logRetention ?? RetentionDays.ONE_MONTH });
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
      description: `Of the function that proceeds as the leader of '${election}'.`,
    });
    this.grantPrincipal = this.role;
    this.logGroup.grantWrite(this.role);
    this.function = new NodejsFunction(this, "Function", {
      entry: props.entry,
      handler: props.handler ?? "handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout,
      memorySize: props.memorySize ?? 256,
      environment: {
        ...props.environment,
        ...environment,
        LEASE_WAIT_MS: String(window.waitS * 1_000),
        // The stack traces of what is bundled are those of its sources.
        NODE_OPTIONS: ["--enable-source-maps", props.environment?.["NODE_OPTIONS"] ?? ""].join(" ").trim(),
      },
      role: this.role,
      logGroup: this.logGroup,
      retryAttempts,
      maxEventAge,
      onFailure: new SqsDestination(this.deadLetterQueue),
      bundling: { format: OutputFormat.ESM, target: "node24", sourceMap: true, sourcesContent: false, ...props.bundling },
    });
    // A function waits for its role's policies by name, and for the role by reference: cfn-lint finds one of them enough.
    (this.function.node.defaultChild as CfnResource).addMetadata("cfn-lint", { config: { ignore_checks: ["W3005"] } });
    table.grantCandidate(this.role, election);
    let invoker: IRole | undefined;
    const invocation = new LambdaInvoke(this.function, {
      deadLetterQueue: this.deadLetterQueue,
      maxEventAge,
      retryAttempts: 10,
      input: scheduledEvent(),
    });
    // CDK makes the role, for schedules of this account and group alone; it is here that one can see which role that is.
    const target: IScheduleTarget = {
      bind: (schedule) => {
        const config = invocation.bind(schedule);
        invoker = config.role;
        return config;
      },
    };
    this.schedule = new Schedule(this, "Schedule", {
      scheduleName: scheduleNameOf(props),
      schedule: props.schedule,
      description: `Invokes the function that proceeds as the leader of '${election}'.`,
      target,
    });
    this.election = election;
    warnOfRate(this, props.schedule, table);
    Validations.of(this.deadLetterQueue).acknowledge({ id: "AwsSolutions-SQS3", reason: "It is the dead-letter queue." });
    const functionId = Stack.of(this).getLogicalId(this.function.node.defaultChild as CfnElement);
    if (invoker) {
      Validations.of(invoker).acknowledge({
        id: `AwsSolutions-IAM5[Resource::<${functionId}.Arn>:*]`,
        reason: "What may be invoked are the versions of this one function.",
      });
    }
  }

  /** Invocations whose handler ran to its end, as `onlyAsLeader` writes it to the log. */
  metricRan(options?: MetricOptions): Metric {
    return this.#invocations("Ran", options);
  }

  /** Invocations that did not lead, by the same. */
  metricSkipped(options?: MetricOptions): Metric {
    return this.#invocations("Skipped", options);
  }

  /** Invocations that have failed; those that did not lead have not. */
  metricErrors(options?: MetricOptions): Metric {
    return this.function.metricErrors(options);
  }

  /** Invocations that were given up: undelivered, or failed at every attempt. Any is one to look at. */
  metricDeadLetters(options?: MetricOptions): Metric {
    return this.deadLetterQueue.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, ...options });
  }

  /** Invocations that Lambda put off, since too many went on at once. */
  metricThrottles(options?: MetricOptions): Metric {
    return this.function.metricThrottles(options);
  }

  /** How long invocations took, the longest. */
  metricDuration(options?: MetricOptions): Metric {
    return this.function.metricDuration({ statistic: Stats.MAXIMUM, ...options });
  }

  /** Of the election; where its name is none that CloudWatch takes, of the function. */
  #invocations(metricName: "Ran" | "Skipped", options: MetricOptions = {}): Metric {
    const isByElection = Token.isUnresolved(this.election) || isDimensionValue(this.election);
    const [name, value] = isByElection ? [ELECTION_DIMENSION, this.election] : ["Function", this.function.functionName];
    const dimensionsMap = { [name]: value };
    return new Metric({ namespace: METRICS_NAMESPACE, metricName, dimensionsMap, statistic: Stats.SUM, ...options });
  }
}

/**
 * The event of the schedule, as a rule of EventBridge writes it. EventBridge Scheduler sends much the same by itself, and documents
 * none of it. https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
 */
function scheduledEvent(): ScheduleTargetInput {
  return ScheduleTargetInput.fromObject({
    id: ContextAttribute.executionId,
    source: "aws.scheduler",
    "detail-type": "Scheduled Event",
    time: ContextAttribute.scheduledTime,
    resources: [ContextAttribute.scheduleArn],
    detail: {},
  });
}

/** The names that a schedule can have. https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html */
const SCHEDULE_NAME = /^[\w.-]{1,64}$/;
const LONGEST_TIMEOUT_S = 900;

function scheduleNameOf({ scheduleName, election }: LeaderScheduledFunctionProps): string {
  return scheduleName ?? election;
}

function checkSchedule(
  props: LeaderScheduledFunctionProps,
  timeout: Duration,
  retryAttempts: number,
  maxEventAge: Duration,
): RetryWindow {
  const { election, environment = {} } = props;
  if (!Token.isUnresolved(election)) checkName("election", election);
  const name = scheduleNameOf(props);
  if (!Token.isUnresolved(name) && !SCHEDULE_NAME.test(name)) {
    throw new ConfigurationError(
      `A schedule cannot be called ${JSON.stringify(name)}: 1 to 64 letters, digits, dots, hyphens and underscores. Set scheduleName, the same in every region.`,
    );
  }
  const seconds = timeout.toSeconds();
  if (!(seconds >= 1 && seconds <= LONGEST_TIMEOUT_S)) {
    throw new ConfigurationError(
      `timeout is ${seconds} s; Lambda takes 1 to ${LONGEST_TIMEOUT_S}. Work that takes longer belongs in a CandidateService.`,
    );
  }
  if (![0, 1, 2].includes(retryAttempts)) {
    throw new ConfigurationError(`retryAttempts is ${retryAttempts}; Lambda takes 0, 1 or 2.`);
  }
  const age = maxEventAge.toSeconds();
  if (!(age >= 60 && age <= 21_600)) throw new ConfigurationError(`maxEventAge is ${age} s; Lambda takes 60 to 21600.`);
  const window = retryWindow(seconds, retryAttempts);
  if (age < window.lastAttemptS) {
    throw new ConfigurationError(
      `maxEventAge is ${age} s, and the last attempt after one that died comes up to ${window.lastAttemptS} s after the first: it would not be made. Make maxEventAge ${window.lastAttemptS} s or more.`,
    );
  }
  checkEnvironment(environment, "LEASE_WAIT_MS");
  return window;
}
