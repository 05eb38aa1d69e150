import { ConfigurationError } from "@leasehold/core";
import { checkName } from "@leasehold/core/provider";
import { Stats, type Metric, type MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { Role, ServicePrincipal, type IGrantable, type IPrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, Runtime } from "aws-cdk-lib/aws-lambda";
import { SqsDestination } from "aws-cdk-lib/aws-lambda-destinations";
import { NodejsFunction, OutputFormat, type BundlingOptions } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Schedule, type ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { LambdaInvoke } from "aws-cdk-lib/aws-scheduler-targets";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Duration, Stack, Token, Validations, type CfnElement, type CfnResource } from "aws-cdk-lib/core";
import { Construct } from "constructs";
import type { ILeaseTable } from "./lease-table.ts";

/** The settings of a {@link LeaderScheduledFunction}. */
export interface LeaderScheduledFunctionProps {
  /** The table of leases. The function may compete in `election` there, and in nothing else. */
  readonly table: ILeaseTable;
  /** The election, the same in every region. The handler finds it in the environment variable `ELECTION`. */
  readonly election: string;
  /** When it is invoked. */
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
   * How often Lambda invokes the function again after it has failed, 0 to 2.
   * @default 2
   */
  readonly retryAttempts?: number;
  /**
   * How late an invocation may be. After that, it goes to the dead-letter queue.
   * @default Duration.hours(1)
   */
  readonly maxEventAge?: Duration;
  /**
   * Further environment variables, beside `LEASE_TABLE` and `ELECTION`.
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
 * dead-letter queue. The schedule's event has its time, which `oncePerTick` needs, since it has no input of its own.
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

  /** @throws {ConfigurationError} for what cannot work. */
  constructor(scope: Construct, id: string, props: LeaderScheduledFunctionProps) {
    super(scope, id);
    const { table, election, timeout = Duration.minutes(1), retryAttempts = 2, maxEventAge = Duration.hours(1) } = props;
    checkSchedule(props, timeout, maxEventAge);
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
      environment: { ...props.environment, LEASE_TABLE: table.tableName, ELECTION: election },
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
    const invoker = new Role(this, "Invoker", {
      assumedBy: new ServicePrincipal("scheduler.amazonaws.com"),
      description: `Of the schedule of '${election}'.`,
    });
    this.schedule = new Schedule(this, "Schedule", {
      scheduleName: scheduleNameOf(props),
      schedule: props.schedule,
      description: `Invokes the function that proceeds as the leader of '${election}'.`,
      target: new LambdaInvoke(this.function, {
        role: invoker,
        deadLetterQueue: this.deadLetterQueue,
        maxEventAge,
        retryAttempts: 10,
      }),
    });
    Validations.of(this.deadLetterQueue).acknowledge({ id: "AwsSolutions-SQS3", reason: "It is the dead-letter queue." });
    const functionId = Stack.of(this).getLogicalId(this.function.node.defaultChild as CfnElement);
    Validations.of(invoker).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${functionId}.Arn>:*]`,
      reason: "What may be invoked are the versions of this one function.",
    });
  }

  /** Invocations that have failed; those that did not lead have not. */
  metricErrors(options?: MetricOptions): Metric {
    return this.function.metricErrors(options);
  }

  /** Invocations that were given up: undelivered, or failed at every attempt. Any is one to look at. */
  metricDeadLetters(options?: MetricOptions): Metric {
    return this.deadLetterQueue.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, ...options });
  }

  /** How long invocations took, the longest. */
  metricDuration(options?: MetricOptions): Metric {
    return this.function.metricDuration({ statistic: Stats.MAXIMUM, ...options });
  }
}

/** The names that a schedule can have. https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html */
const SCHEDULE_NAME = /^[\w.-]{1,64}$/;
const LONGEST_TIMEOUT_S = 900;

function scheduleNameOf({ scheduleName, election }: LeaderScheduledFunctionProps): string {
  return scheduleName ?? election;
}

function checkSchedule(props: LeaderScheduledFunctionProps, timeout: Duration, maxEventAge: Duration): void {
  const { election, environment = {}, retryAttempts } = props;
  if (!Token.isUnresolved(election)) checkName("election", election);
  const name = scheduleNameOf(props);
  if (!Token.isUnresolved(name) && !SCHEDULE_NAME.test(name)) {
    throw new ConfigurationError(
      `A schedule cannot be called ${JSON.stringify(name)}: 1 to 64 letters, digits, dots, hyphens and underscores. Set scheduleName, the same in every region.`,
    );
  }
  const seconds = timeout.toSeconds();
  if (!Token.isUnresolved(seconds) && !(seconds >= 1 && seconds <= LONGEST_TIMEOUT_S)) {
    throw new ConfigurationError(
      `timeout is ${seconds} s; Lambda takes 1 to ${LONGEST_TIMEOUT_S}. Work that takes longer belongs in a CandidateService.`,
    );
  }
  const age = maxEventAge.toSeconds();
  if (!Token.isUnresolved(age) && !(age >= 60 && age <= 21_600)) {
    throw new ConfigurationError(`maxEventAge is ${age} s; Lambda takes 60 to 21600.`);
  }
  if (retryAttempts !== undefined && !Token.isUnresolved(retryAttempts) && ![0, 1, 2].includes(retryAttempts)) {
    throw new ConfigurationError(`retryAttempts is ${retryAttempts}; Lambda takes 0, 1 or 2.`);
  }
  for (const taken of ["LEASE_TABLE", "ELECTION"]) {
    if (taken in environment)
      throw new ConfigurationError(`The environment variable ${taken} is set by the construct, from 'table' and 'election'.`);
  }
}
