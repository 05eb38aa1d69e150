import { IpAddresses, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import { Repository } from "aws-cdk-lib/aws-ecr";
import { ContainerImage, CpuArchitecture } from "aws-cdk-lib/aws-ecs";
import { Duration, type Stack } from "aws-cdk-lib/core";
import { describe, expect, test } from "vitest";
import { CandidateService, LeaseTable, type CandidateServiceProps } from "../src/index.ts";
import { allows, type Statement } from "./iam-evaluator.ts";
import { nagFindings, onlyOf, resourcesOf, strictStack, warningsOf } from "./strict-app.ts";

type Task = { ContainerDefinitions: [Record<string, unknown>]; Cpu: string; Memory: string; RuntimePlatform: object };

function stackWith(props: (stack: Stack) => Partial<CandidateServiceProps> = () => ({})): Stack {
  const stack = strictStack();
  new CandidateService(stack, "Candidates", {
    table: LeaseTable.fromTableName(stack, "Leases", "leases"),
    election: "nightly-billing",
    image: ContainerImage.fromEcrRepository(Repository.fromRepositoryName(stack, "Image", "candidate"), "1"),
    ...props(stack),
  });
  return stack;
}

describe("by default", () => {
  const stack = stackWith();

  test("two candidates run in isolated subnets, with a way to DynamoDB and to their images", () => {
    const { Properties } = onlyOf<{ NetworkConfiguration: { AwsvpcConfiguration: { Subnets: { Ref: string }[] } } }>(
      stack,
      "AWS::ECS::Service",
    );
    expect(Properties).toMatchObject({
      DesiredCount: 2,
      LaunchType: "FARGATE",
      DeploymentConfiguration: { MinimumHealthyPercent: 100, DeploymentCircuitBreaker: { Enable: true, Rollback: true } },
      NetworkConfiguration: { AwsvpcConfiguration: { AssignPublicIp: "DISABLED" } },
    });
    expect(Properties.NetworkConfiguration.AwsvpcConfiguration.Subnets).toHaveLength(2);
    expect(resourcesOf(stack, "AWS::EC2::InternetGateway")).toEqual([]);
    expect(resourcesOf(stack, "AWS::EC2::NatGateway")).toEqual([]);
    const endpoints = resourcesOf<{ ServiceName: unknown; VpcEndpointType: string }>(stack, "AWS::EC2::VPCEndpoint");
    const services = endpoints.map(
      ({ Properties: { ServiceName, VpcEndpointType } }) =>
        `${VpcEndpointType} ${JSON.stringify(ServiceName).replaceAll(/[^a-z0-9.]/gi, "")}`,
    );
    for (const service of [
      "Gateway .*dynamodb",
      "Gateway .*s3",
      "Interface .*ecr.api",
      "Interface .*ecr.dkr",
      "Interface .*logs",
    ]) {
      expect(services).toContainEqual(expect.stringMatching(new RegExp(service)));
    }
  });

  test("a task knows the table, the election and its drain, and has longer than that to stop", () => {
    const { Properties } = onlyOf<Task>(stack, "AWS::ECS::TaskDefinition");
    expect(Properties.ContainerDefinitions).toEqual([
      expect.objectContaining({
        Environment: [
          { Name: "LEASE_TABLE", Value: "leases" },
          { Name: "ELECTION", Value: "nightly-billing" },
          { Name: "DRAIN_TIMEOUT_MS", Value: "15000" },
        ],
        StopTimeout: 30,
        ReadonlyRootFilesystem: true,
        LogConfiguration: expect.objectContaining({ LogDriver: "awslogs" }),
      }),
    ]);
  });

  test("its role may compete in its election and do nothing else", () => {
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

  test("nobody is warned of anything, and cdk-nag finds nothing", () => {
    expect(warningsOf(stack)).toEqual([]);
    expect(nagFindings(stack)).toEqual([]);
  });
});

test("it takes what it is told", () => {
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

test("its metrics are those of the service", () => {
  const stack = stackWith();
  const construct = stack.node.findChild("Candidates") as CandidateService;
  expect([construct.metricCpuUtilization(), construct.metricMemoryUtilization()].map(({ metricName }) => metricName)).toEqual([
    "CPUUtilization",
    "MemoryUtilization",
  ]);
});

test("a single candidate is a loud warning", () => {
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
    [SubnetType.PRIVATE_ISOLATED, [SubnetType.PUBLIC, SubnetType.PRIVATE_WITH_EGRESS, SubnetType.PRIVATE_ISOLATED]],
    [SubnetType.PRIVATE_WITH_EGRESS, [SubnetType.PUBLIC, SubnetType.PRIVATE_WITH_EGRESS]],
  ])("they run in the subnets of type %s", (type, types) => {
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
    expect(() => stackWith((own) => ({ vpc: network(own, SubnetType.PUBLIC) }))).toThrow("has public subnets alone");
    const vpcSubnets = { subnetType: SubnetType.PUBLIC };
    expect(() => stackWith((own) => ({ vpc: network(own, SubnetType.PUBLIC, SubnetType.PRIVATE_ISOLATED), vpcSubnets }))).toThrow(
      "vpcSubnets has public subnets",
    );
    expect(() => stackWith(() => ({ vpcSubnets }))).toThrow("set vpc as well");
  });
});

test.each<[string, Partial<CandidateServiceProps>, RegExp]>([
  [
    "a stop as long as the drain",
    { drainTimeout: Duration.seconds(30), stopTimeout: Duration.seconds(30) },
    /kill a leader before it has drained/,
  ],
  ["a drain longer than Fargate waits", { drainTimeout: Duration.seconds(110) }, /Fargate takes at most 120/],
  ["no candidate", { candidates: 0 }, /whole number from 1/],
  ["half a candidate", { candidates: 1.5 }, /whole number from 1/],
  ["no election", { election: "" }, /election/],
  ["the election's variable", { environment: { ELECTION: "other" } }, /ELECTION is set by the construct/],
])("%s is an error", (_, props, message) => {
  expect(() => stackWith(() => props)).toThrow(message);
});
