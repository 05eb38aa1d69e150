import { GatewayVpcEndpointAwsService, InterfaceVpcEndpointAwsService, IpAddresses, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { Repository } from "aws-cdk-lib/aws-ecr";
import { ContainerImage, CpuArchitecture } from "aws-cdk-lib/aws-ecs";
import { Duration, type Stack } from "aws-cdk-lib/core";
import { Template } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import {
  CandidateService,
  imageEndpointStatement,
  leaseEndpointStatement,
  LeaseTable,
  type CandidateServiceProps,
} from "../src/index.ts";
import { allows, type Statement } from "./iam-evaluator.ts";
import { existingVpc, nagFindings, onlyOf, resourcesOf, strictStack, SUBNETS, warningsOf, TABLE_ARN } from "./strict-app.ts";

type Task = { ContainerDefinitions: [Record<string, unknown>]; Cpu: string; Memory: string; RuntimePlatform: object };

function stackWith(props: (stack: Stack) => Partial<CandidateServiceProps> = () => ({})): Stack {
  const stack = strictStack();
  new CandidateService(stack, "Candidates", {
    table: LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN),
    election: "nightly-billing",
    image: ContainerImage.fromEcrRepository(Repository.fromRepositoryName(stack, "Image", "candidate"), "1"),
    vpc: existingVpc(stack),
    ...props(stack),
  });
  return stack;
}

function closedVpc(stack: Stack): Vpc {
  return new Vpc(stack, "Network", {
    maxAzs: 2,
    natGateways: 0,
    subnetConfiguration: [{ name: "P", subnetType: SubnetType.PRIVATE_ISOLATED }],
  });
}

describe("by default", () => {
  const stack = stackWith();

  test("two candidates run in the network's private subnets, and nothing of a network is made", () => {
    expect(onlyOf(stack, "AWS::ECS::Service").Properties).toMatchObject({
      DesiredCount: 2,
      LaunchType: "FARGATE",
      DeploymentConfiguration: { MinimumHealthyPercent: 100, DeploymentCircuitBreaker: { Enable: true, Rollback: true } },
      NetworkConfiguration: { AwsvpcConfiguration: { AssignPublicIp: "DISABLED", Subnets: SUBNETS } },
    });
    for (const type of ["VPC", "VPCEndpoint", "NatGateway", "InternetGateway"]) {
      expect(resourcesOf(stack, `AWS::EC2::${type}`)).toEqual([]);
    }
  });

  test("a task gets the table, the election and its drain, and has longer than the drain to stop", () => {
    const { Properties } = onlyOf<Task>(stack, "AWS::ECS::TaskDefinition");
    expect(Properties.ContainerDefinitions).toEqual([
      expect.objectContaining({
        Environment: [
          { Name: "LEASE_TABLE", Value: "leases" },
          { Name: "LEASE_TABLE_REGION", Value: "eu-central-1" },
          { Name: "ELECTION", Value: "nightly-billing" },
          { Name: "DRAIN_TIMEOUT_MS", Value: "15000" },
          { Name: "HEALTH_PORT", Value: "8080" },
        ],
        StopTimeout: 30,
        ReadonlyRootFilesystem: true,
        LogConfiguration: expect.objectContaining({ LogDriver: "awslogs" }),
      }),
    ]);
  });

  test("a task is healthy once it campaigns, and a deployment ends when its tasks do", () => {
    const { Properties } = onlyOf<Task>(stack, "AWS::ECS::TaskDefinition");
    expect(Properties.ContainerDefinitions[0]).toMatchObject({
      HealthCheck: {
        Command: ["CMD", "node", "-e", expect.stringContaining("http://127.0.0.1:8080/health")],
        Interval: 10,
        Timeout: 5,
        Retries: 3,
        StartPeriod: 60,
      },
    });
    const { Properties: service } = onlyOf(stack, "AWS::ECS::Service");
    expect(service).toMatchObject({
      DeploymentConfiguration: {
        Alarms: { Enable: true, Rollback: true, AlarmNames: [{ Ref: expect.stringContaining("NobodyLeads") }] },
      },
    });
    expect(onlyOf(stack, "AWS::CloudWatch::Alarm").Properties).toMatchObject({
      Namespace: "Leasehold",
      MetricName: "HasLeader",
      Dimensions: [{ Name: "Election", Value: "nightly-billing" }],
      Statistic: "Maximum",
      Period: 60,
      EvaluationPeriods: 3,
      Threshold: 1,
      ComparisonOperator: "LessThanThreshold",
      // No candidate runs before the first deployment. The alarm must not block it.
      TreatMissingData: "notBreaching",
    });
  });

  test("its role may compete in its election, and do nothing else", () => {
    const policies = resourcesOf<{ PolicyDocument: { Statement: Statement[] }; Roles: { Ref: string }[] }>(
      stack,
      "AWS::IAM::Policy",
    );
    const statements = policies
      .filter(({ Properties }) => Properties.Roles.some(({ Ref }) => Ref.includes("TaskTaskRole")))
      .flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
    expect(statements.flatMap(({ Action }) => Action).every((action) => action.startsWith("dynamodb:"))).toBe(true);
    const resource = statements[0]?.Resource;
    const may = (election: string): boolean =>
      allows(statements, { action: "dynamodb:UpdateItem", resource, context: { "dynamodb:LeadingKeys": [election] } });
    expect([may("nightly-billing"), may("other")]).toEqual([true, false]);
  });

  test("there is no warning, and cdk-nag finds nothing", () => {
    expect(warningsOf(stack)).toEqual([]);
    expect(nagFindings(stack)).toEqual([]);
  });
});

test("the props set the service and the task", () => {
  const stack = stackWith(() => ({
    candidates: 3,
    drainTimeout: Duration.seconds(60),
    environment: { MORE: "1" },
    command: ["node", "other.js"],
    cpu: 512,
    memoryLimitMiB: 1024,
    cpuArchitecture: CpuArchitecture.ARM64,
  }));
  expect(onlyOf(stack, "AWS::ECS::Service").Properties).toMatchObject({ DesiredCount: 3 });
  const { Properties } = onlyOf<Task>(stack, "AWS::ECS::TaskDefinition");
  expect(Properties).toMatchObject({ Cpu: "512", Memory: "1024", RuntimePlatform: { CpuArchitecture: "ARM64" } });
  expect(Properties.ContainerDefinitions[0]).toMatchObject({ StopTimeout: 75, Command: ["node", "other.js"] });
});

test("the service waits for the endpoints, the routes and the rights of its tasks", () => {
  const stack = stackWith((own) => {
    const vpc = closedVpc(own);
    vpc.addInterfaceEndpoint("Logs", { service: InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS });
    return { vpc };
  });
  const { DependsOn } = onlyOf(stack, "AWS::ECS::Service") as { DependsOn?: string[] };
  for (const type of ["AWS::EC2::VPCEndpoint", "AWS::EC2::SubnetRouteTableAssociation", "AWS::IAM::Policy"]) {
    const ids = Object.keys(Template.fromStack(stack).findResources(type));
    expect(ids.length).toBeGreaterThan(0);
    expect(DependsOn).toEqual(expect.arrayContaining(ids));
  }
});

test("the policies close gateway endpoints to all but the table and the layers of images", () => {
  const stack = strictStack();
  const vpc = closedVpc(stack);
  const table = LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN);
  const { DYNAMODB, S3 } = GatewayVpcEndpointAwsService;
  vpc.addGatewayEndpoint("Leases", { service: DYNAMODB }).addToPolicy(leaseEndpointStatement(table));
  vpc.addGatewayEndpoint("Layers", { service: S3 }).addToPolicy(imageEndpointStatement());
  const [leases, layers] = resourcesOf<{ PolicyDocument: { Statement: Statement[] } }>(stack, "AWS::EC2::VPCEndpoint").map(
    ({ Properties }) => Properties.PolicyDocument.Statement,
  );
  const may = (action: string, resource: string): boolean => allows(leases!, { action, resource, context: {} });
  expect([may("dynamodb:UpdateItem", TABLE_ARN), may("dynamodb:DeleteItem", TABLE_ARN)]).toEqual([true, true]);
  expect(may("dynamodb:PutItem", TABLE_ARN)).toBe(false);
  expect(may("dynamodb:GetItem", `${TABLE_ARN}-2`)).toBe(false);
  expect(layers).toMatchObject([
    { Action: "s3:GetObject", Resource: { "Fn::Join": ["", expect.arrayContaining([":s3:::prod-"])] } },
  ]);
});

test("the endpoints of a network may let in the service, which does not wait for that", () => {
  const stack = strictStack();
  const vpc = closedVpc(stack);
  const endpoint = vpc.addInterfaceEndpoint("Logs", { service: InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS, open: false });
  const service = new CandidateService(stack, "Candidates", {
    table: LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN),
    election: "nightly-billing",
    image: ContainerImage.fromRegistry("example"),
    vpc,
  });
  endpoint.connections.allowDefaultPortFrom(service);
  expect(() => Template.fromStack(stack)).not.toThrow();
});

test("a single candidate is a warning", () => {
  expect(warningsOf(stackWith(() => ({ candidates: 1 })))).toEqual([expect.stringContaining("single candidate")]);
});

describe("in a network of yours", () => {
  const subnets = (...types: SubnetType[]) => types.map((subnetType) => ({ name: subnetType, subnetType }));
  const network = (stack: Stack, ...types: SubnetType[]): Vpc =>
    new Vpc(stack, "Network", {
      ipAddresses: IpAddresses.cidr("10.0.0.0/16"),
      maxAzs: 2,
      subnetConfiguration: subnets(...types),
    });

  test.each([
    [SubnetType.PRIVATE_WITH_EGRESS, [SubnetType.PUBLIC, SubnetType.PRIVATE_WITH_EGRESS, SubnetType.PRIVATE_ISOLATED]],
    [SubnetType.PRIVATE_ISOLATED, [SubnetType.PUBLIC, SubnetType.PRIVATE_ISOLATED]],
  ])("they run in the subnets of type %s, if the network has %j", (type, types) => {
    const stack = stackWith((own) => ({ vpc: network(own, ...types) }));
    const { Properties } = onlyOf<{ NetworkConfiguration: { AwsvpcConfiguration: { Subnets: { Ref: string }[] } } }>(
      stack,
      "AWS::ECS::Service",
    );
    for (const { Ref } of Properties.NetworkConfiguration.AwsvpcConfiguration.Subnets) {
      expect(Ref).toContain(`Network${type.replaceAll("_", "")}`.replace("PrivateWithEgress", "Private"));
    }
  });

  test("public subnets are an error", () => {
    expect(() => stackWith((own) => ({ vpc: network(own, SubnetType.PUBLIC) }))).toThrow("are public");
    const vpcSubnets = { subnetType: SubnetType.PUBLIC };
    expect(() => stackWith((own) => ({ vpc: network(own, SubnetType.PUBLIC, SubnetType.PRIVATE_ISOLATED), vpcSubnets }))).toThrow(
      "are public",
    );
  });
});

test.each<[string, Partial<CandidateServiceProps>, RegExp]>([
  ["a drain longer than Fargate waits", { drainTimeout: Duration.seconds(110) }, /drainTimeout is 110 s.*make it 105 s or less/],
  ["no candidate", { candidates: 0 }, /whole number from 1/],
  ["half a candidate", { candidates: 1.5 }, /whole number from 1/],
  ["no election", { election: "" }, /election/],
  ["an election that has no metric", { election: "夜" }, /printable ASCII/],
  ["the table's region", { environment: { LEASE_TABLE_REGION: "other" } }, /LEASE_TABLE_REGION is set by the construct/],
  ["the election's variable", { environment: { ELECTION: "other" } }, /ELECTION is set by the construct/],
])("%s is an error", (_, props, message) => {
  expect(() => stackWith(() => props)).toThrow(message);
});
