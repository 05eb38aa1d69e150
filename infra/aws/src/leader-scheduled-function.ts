import { ConfigurationError } from "@leasehold/core";
import { checkName } from "@leasehold/core/provider";
import { ELECTION_DIMENSION, isDimensionValue, METRICS_NAMESPACE } from "@leasehold/core/diagnostics";
import { Metric, Stats, type MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { ManagedPolicy, Role, ServicePrincipal, type IGrantable, type IPrincipal, type IRole } from "aws-cdk-lib/aws-iam";
import { Architecture, Runtime } from "aws-cdk-lib/aws-lambda";
import { SqsDestination } from "aws-cdk-lib/aws-lambda-destinations";
import { NodejsFunction, type BundlingOptions, type NodejsFunctionProps } from "aws-cdk-lib/aws-lambda-nodejs";
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
import { functionBundling } from "./bundling.ts";
import type { ILeaseTable } from "./lease-table-base.ts";
import { checkScheduleName, warnOfRate } from "./other-schedules.ts";
import { retryWindow, type RetryWindow } from "./retry-window.ts";
import { checkEnvironment, tableEnvironment } from "./table-environment.ts";

/** The settings of a {@link LeaderScheduledFunction}. */
export interface LeaderScheduledFunctionProps {
  /** The table of leases. The function may compete there in `election`, and in no other election. */
  readonly table: ILeaseTable;
  /** The election, the same in every region. The handler finds it in the environment variable `ELECTION`. */
  readonly election: string;
  /**
   * The times of invocation. `cron(...)` and `at(...)` mean the same times in every region. `rate(...)` counts from when each
   * region's schedule was made, so with two regions there is a warning.
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
   * The time after which Lambda ends an invocation. The default lease lasts a little longer, and so does the wait after an
   * invocation that died.
   * @default Duration.minutes(1)
   */
  readonly timeout?: Duration;
  /**
   * The schedule's name. `oncePerTick` identifies occurrences by it, so it has to be the same in every region. A second function
   * of the same election in a region needs another name.
   * @default - the election's name, if it is a valid name of a schedule
   */
  readonly scheduleName?: string;
  /**
   * The number of times that Lambda invokes the function again after it has failed or died, 0 to 2. Lambda waits one minute, and
   * then two. If the lease of an invocation that died lasts longer than that, `LEASE_WAIT_MS` tells the function to wait. With 0
   * a failed invocation goes to the dead-letter queue at once.
   * @default 2
   */
  readonly retryAttempts?: number;
  /**
   * Further environment variables, besides `LEASE_TABLE`, `LEASE_TABLE_REGION`, `ELECTION` and `LEASE_WAIT_MS`.
   * @default - none
   */
  readonly environment?: Record<string, string>;
  /**
   * The time for which its log is kept.
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays;
  /**
   * More options of esbuild.
   * @default - an ES module that can hold CommonJS packages, without the AWS SDK, which Lambda has
   */
  readonly bundling?: BundlingOptions;
  /**
   * Further settings of the function, such as `vpc`, `layers` and `memorySize`.
   * @default - a memory of 256 MB
   */
  readonly functionProps?: Omit<NodejsFunctionProps, OwnFunctionProp>;
}

/** The settings of the function that this construct makes of its other props. */
type OwnFunctionProp =
  | ("entry" | "handler" | "runtime" | "architecture" | "timeout" | "environment" | "role" | "logGroup")
  | ("retryAttempts" | "maxEventAge" | "onFailure" | "bundling");

/**
 * A function that EventBridge Scheduler invokes, and that proceeds only as leader. It has its own role, log group and dead-letter
 * queue. The schedule's event contains its time, which `oncePerTick` needs.
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
  /** The name by which `oncePerTick` identifies occurrences. */
  readonly scheduleName: string;

  /** @throws {ConfigurationError} for settings that cannot work. */
  constructor(scope: Construct, id: string, props: LeaderScheduledFunctionProps) {
    super(scope, id);
    const { table, election, timeout = Duration.minutes(1), retryAttempts = 2 } = props;
    this.election = election;
    this.scheduleName = props.scheduleName ?? election;
    const window = checkSchedule(props, timeout, retryAttempts);
    checkScheduleName(this);
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
    if (props.functionProps?.vpc) this.#mayJoinNetwork();
    this.function = new NodejsFunction(this, "Function", {
      memorySize: 256,
      ...props.functionProps,
      entry: props.entry,
      handler: props.handler ?? "handler",
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout,
      environment: {
        ...props.environment,
        ...environment,
        LEASE_WAIT_MS: String(window.waitS * 1_000),
        // Show stack traces of the sources instead of the bundle.
        NODE_OPTIONS: ["--enable-source-maps", props.environment?.["NODE_OPTIONS"] ?? ""].join(" ").trim(),
      },
      role: this.role,
      logGroup: this.logGroup,
      retryAttempts,
      maxEventAge: MAX_EVENT_AGE,
      onFailure: new SqsDestination(this.deadLetterQueue),
      bundling: functionBundling(props.bundling),
    });
    // A function waits for its role's policies by name, and for the role by reference. cfn-lint reports the second as
    // superfluous.
    (this.function.node.defaultChild as CfnResource).addMetadata("cfn-lint", { config: { ignore_checks: ["W3005"] } });
    table.grantCandidate(this.role, election);
    let invoker: IRole | undefined;
    const invocation = new LambdaInvoke(this.function, {
      deadLetterQueue: this.deadLetterQueue,
      maxEventAge: MAX_EVENT_AGE,
      retryAttempts: 10,
      input: scheduledEvent(),
    });
    // CDK makes one role for schedules of this account and group. Only `bind` returns it.
    const target: IScheduleTarget = {
      bind: (schedule) => {
        const config = invocation.bind(schedule);
        invoker = config.role;
        return config;
      },
    };
    this.schedule = new Schedule(this, "Schedule", {
      scheduleName: this.scheduleName,
      schedule: props.schedule,
      description: `Invokes the function that proceeds as the leader of '${election}'.`,
      target,
    });
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

  /** Invocations whose handler ended without an error, as `onlyAsLeader` writes them to the log. */
  metricRan(options?: MetricOptions): Metric {
    return this.#invocations("Ran", options);
  }

  /** Invocations that did not lead, as `onlyAsLeader` writes them to the log. */
  metricSkipped(options?: MetricOptions): Metric {
    return this.#invocations("Skipped", options);
  }

  /** Invocations that were given up: undelivered, or failed at every attempt. Look into each of them. */
  metricDeadLetters(options?: MetricOptions): Metric {
    return this.deadLetterQueue.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, ...options });
  }

  /** Lets the function make its network interfaces. CDK gives this right only to a role that it makes itself. */
  #mayJoinNetwork(): void {
    const name = "service-role/AWSLambdaVPCAccessExecutionRole";
    this.role.addManagedPolicy(ManagedPolicy.fromAwsManagedPolicyName(name));
    Validations.of(this.role).acknowledge({
      id: `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${name}]`,
      reason: "It is AWS's own policy for a function in a network.",
    });
  }

  /** Returns a metric of the election, or of the function if CloudWatch does not take the election's name. */
  #invocations(metricName: "Ran" | "Skipped", options: MetricOptions = {}): Metric {
    const isByElection = Token.isUnresolved(this.election) || isDimensionValue(this.election);
    const [name, value] = isByElection ? [ELECTION_DIMENSION, this.election] : ["Function", this.function.functionName];
    const dimensionsMap = { [name]: value };
    return new Metric({ namespace: METRICS_NAMESPACE, metricName, dimensionsMap, statistic: Stats.SUM, ...options });
  }
}

/**
 * Returns the event of the schedule, in the format of a rule of EventBridge. EventBridge Scheduler sends a similar one by
 * default, but does not document it.
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
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

/** The valid names of a schedule. https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html */
const SCHEDULE_NAME = /^[\w.-]{1,64}$/;
const LONGEST_TIMEOUT_S = 900;
/** The longest delay of an invocation. A later one goes to the dead-letter queue. Even the last attempt of 15 minutes comes sooner. */
const MAX_EVENT_AGE = Duration.hours(1);

function checkSchedule(props: LeaderScheduledFunctionProps, timeout: Duration, retryAttempts: number): RetryWindow {
  const { election, environment = {}, scheduleName: name = election } = props;
  checkName("election", election);
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
  checkEnvironment(environment, "LEASE_WAIT_MS");
  return retryWindow(seconds, retryAttempts);
}
