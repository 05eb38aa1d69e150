import { ConfigurationError } from "@leasehold/core";
import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import type { Connections, IConnectable, IVpc, SubnetSelection } from "aws-cdk-lib/aws-ec2";
import {
  AlarmBehavior,
  Cluster,
  CpuArchitecture,
  FargateService,
  FargateTaskDefinition,
  LogDrivers,
  OperatingSystemFamily,
  type ContainerImage,
  type HealthCheck,
} from "aws-cdk-lib/aws-ecs";
import type { IGrantable, IPrincipal } from "aws-cdk-lib/aws-iam";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Annotations, Duration, Token, Validations, type CfnResource } from "aws-cdk-lib/core";
import { Construct } from "constructs";
import { deploymentAlarm, HEALTH_CHECK, HEALTH_PORT } from "./candidate-health.ts";
import { subnetsOf } from "./candidate-network.ts";
import { checkElectionDimension } from "./election-metrics.ts";
import type { ILeaseTable } from "./lease-table-base.ts";
import { checkEnvironment, tableEnvironment } from "./table-environment.ts";

/** The settings of a {@link CandidateService}. */
export interface CandidateServiceProps {
  /** The table of leases. The tasks may compete there in `election`, and in no other election. */
  readonly table: ILeaseTable;
  /** The election that every task competes in, in the environment variable `ELECTION`. */
  readonly election: string;
  /** The image of the program, which uses the environment variables named here. */
  readonly image: ContainerImage;
  /**
   * The number of candidates: one leads, the others wait. With one there is a warning at synthesis.
   * @default 2
   */
  readonly candidates?: number;
  /**
   * The longest time for the task of a stopping leader: `drainTimeoutMs` of its Elector, in the environment variable
   * `DRAIN_TIMEOUT_MS`. ECS kills a task 15 s after it.
   * @default Duration.seconds(15)
   */
  readonly drainTimeout?: Duration;
  /**
   * The network. It needs private subnets with a way to DynamoDB, to the image's registry and to CloudWatch Logs, and to whatever
   * the leader calls.
   */
  readonly vpc: IVpc;
  /**
   * The subnets of `vpc`. Public ones are an error.
   * @default - private ones with a way out, else isolated ones, which need an endpoint for DynamoDB
   */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * The check by which ECS learns that a task campaigns. A deployment whose tasks never pass it is rolled back. The check must
   * fail until the task has reached the store, and must not fail later because the store is out of reach. Otherwise ECS would
   * replace every candidate during an outage.
   * @default - GET http://127.0.0.1:8080/health, by the image's Node; the port is in the environment variable `HEALTH_PORT`
   */
  readonly healthCheck?: HealthCheck;
  /**
   * Further environment variables, besides `LEASE_TABLE`, `LEASE_TABLE_REGION`, `ELECTION`, `DRAIN_TIMEOUT_MS` and `HEALTH_PORT`.
   * @default - none
   */
  readonly environment?: Record<string, string>;
  /**
   * The command, if not the image's own.
   * @default - the image's own
   */
  readonly command?: string[];
  /**
   * The CPU units of a task. A processor has 1024.
   * @default 256
   */
  readonly cpu?: number;
  /**
   * The memory of a task, in MiB.
   * @default 512
   */
  readonly memoryLimitMiB?: number;
  /**
   * The processors that the image is built for.
   * @default CpuArchitecture.X86_64
   */
  readonly cpuArchitecture?: CpuArchitecture;
  /**
   * The time for which the log is kept.
   * @default RetentionDays.ONE_MONTH
   */
  readonly logRetention?: RetentionDays;
}

/**
 * Candidates that run all the time, on Fargate, in subnets that cannot be reached from outside. A deployment starts new
 * candidates before it stops old ones. A leader that is stopped has time to drain and release. The deployment ends once the new
 * tasks campaign. ECS rolls it back if they never do, or if no candidate leads any more.
 */
export class CandidateService extends Construct implements IGrantable, IConnectable {
  readonly vpc: IVpc;
  readonly cluster: Cluster;
  readonly service: FargateService;
  readonly taskDefinition: FargateTaskDefinition;
  readonly logGroup: LogGroup;
  /** Goes off if candidates run and none leads. ECS then rolls a deployment back. Missing metrics do not set it off. */
  readonly deploymentAlarm: Alarm;
  readonly grantPrincipal: IPrincipal;
  readonly connections: Connections;

  /** @throws {ConfigurationError} for settings that cannot work, or that leave a leader no time to release its lease. */
  constructor(scope: Construct, id: string, props: CandidateServiceProps) {
    super(scope, id);
    const { table, election, candidates = 2, drainTimeout = Duration.seconds(15) } = props;
    const stopS = drainTimeout.toSeconds() + RELEASE_S;
    checkService(props, stopS);
    this.vpc = props.vpc;
    const vpcSubnets = subnetsOf(this.vpc, props.vpcSubnets);
    this.cluster = new Cluster(this, "Cluster", { vpc: this.vpc });
    this.logGroup = new LogGroup(this, "Log", { retention: props.logRetention ?? RetentionDays.ONE_MONTH });
    this.taskDefinition = new FargateTaskDefinition(this, "Task", {
      cpu: props.cpu ?? 256,
      memoryLimitMiB: props.memoryLimitMiB ?? 512,
      runtimePlatform: {
        cpuArchitecture: props.cpuArchitecture ?? CpuArchitecture.X86_64,
        operatingSystemFamily: OperatingSystemFamily.LINUX,
      },
    });
    this.taskDefinition.addContainer("Candidate", {
      image: props.image,
      command: props.command,
      environment: {
        ...props.environment,
        ...tableEnvironment(this, table, election),
        DRAIN_TIMEOUT_MS: String(drainTimeout.toMilliseconds()),
        HEALTH_PORT: String(HEALTH_PORT),
      },
      healthCheck: props.healthCheck ?? HEALTH_CHECK,
      // The metrics are lines of the log.
      logging: LogDrivers.awsLogs({ streamPrefix: "candidate", logGroup: this.logGroup }),
      readonlyRootFilesystem: true,
      stopTimeout: Duration.seconds(stopS),
    });
    this.deploymentAlarm = deploymentAlarm(this, election);
    this.service = new FargateService(this, "Service", {
      cluster: this.cluster,
      taskDefinition: this.taskDefinition,
      desiredCount: candidates,
      vpcSubnets,
      assignPublicIp: false,
      // New candidates start before old ones stop, so a standby is always there.
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      circuitBreaker: { enable: true, rollback: true },
      deploymentAlarms: { alarmNames: [this.deploymentAlarm.alarmName], behavior: AlarmBehavior.ROLLBACK_ON_ALARM },
    });
    // Let the service wait for its network and its role, because a task that cannot fetch its image yet counts as failed. Only
    // the service waits: an endpoint may refer to the service's security group, and would otherwise wait for the service in a
    // circle.
    const service = this.service.node.findChild("Service") as CfnResource;
    service.node.addDependency(this.vpc, this.taskDefinition);
    // The service also waits for some of these by reference. cfn-lint then reports the second dependency as superfluous.
    service.addMetadata("cfn-lint", { config: { ignore_checks: ["W3005"] } });
    this.connections = this.service.connections;
    this.grantPrincipal = this.taskDefinition.taskRole;
    table.grantCandidate(this, election);
    if (candidates === 1) {
      Annotations.of(this).addWarningV2(
        "@leasehold/infra-aws:singleCandidate",
        `The election '${election}' has a single candidate: while it is replaced, nobody leads. Use 2 candidates or more.`,
      );
    }
    Validations.of(this.cluster).acknowledge({
      id: "AwsSolutions-ECS4",
      reason: "The metrics of the election tell whether candidates work, and those of the cluster would cost more than it.",
    });
    Validations.of(this.taskDefinition).acknowledge(
      { id: "AwsSolutions-ECS2", reason: "The environment variables are names and durations; secrets do not belong there." },
      { id: "AwsSolutions-IAM5[Resource::*]", reason: "ecr:GetAuthorizationToken is about no resource." },
    );
  }
}

/** The time after the drain, in which the lease is released and the process ends. */
const RELEASE_S = 15;
/** https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_definition_parameters.html#container_definition_timeout */
const LONGEST_STOP_S = 120;

function checkService({ election, candidates = 2, environment = {} }: CandidateServiceProps, stopS: number): void {
  checkElectionDimension(election);
  if (!Token.isUnresolved(candidates) && !(Number.isInteger(candidates) && candidates >= 1)) {
    throw new ConfigurationError(
      `candidates is ${candidates}; it must be a whole number from 1, and 2 for somebody to take over.`,
    );
  }
  if (stopS > LONGEST_STOP_S) {
    throw new ConfigurationError(
      `drainTimeout is ${stopS - RELEASE_S} s, and Fargate kills a task ${LONGEST_STOP_S} s after SIGTERM, in which a leader also has to release its lease: make it ${LONGEST_STOP_S - RELEASE_S} s or less.`,
    );
  }
  checkEnvironment(environment, "DRAIN_TIMEOUT_MS", "HEALTH_PORT");
}
