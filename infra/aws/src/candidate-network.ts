import { ConfigurationError } from "@leasehold/core";
import {
  GatewayVpcEndpointAwsService,
  InterfaceVpcEndpointAwsService,
  SubnetType,
  Vpc,
  type IVpc,
  type SubnetSelection,
} from "aws-cdk-lib/aws-ec2";
import { Stack, Validations } from "aws-cdk-lib/core";
import type { Construct } from "constructs";
import type { ILeaseTable } from "./lease-table-base.ts";

/**
 * Isolated subnets in two availability zones, with a way to DynamoDB, ECR and CloudWatch Logs of their own region.
 * @throws {ConfigurationError} for a table in another region.
 */
export function closedNetwork(scope: Construct, table: ILeaseTable): Vpc {
  if (Stack.of(scope).region !== table.region) {
    throw new ConfigurationError(
      `The table is in ${table.region}, and the network that is made here has a way to DynamoDB of its own region alone. Pass a vpc with private subnets that have a way out.`,
    );
  }
  const vpc = new Vpc(scope, "Vpc", {
    maxAzs: 2,
    natGateways: 0,
    subnetConfiguration: [{ name: "Candidates", subnetType: SubnetType.PRIVATE_ISOLATED }],
    gatewayEndpoints: {
      DynamoDb: { service: GatewayVpcEndpointAwsService.DYNAMODB },
      // ECR keeps the layers of images in S3.
      S3: { service: GatewayVpcEndpointAwsService.S3 },
    },
  });
  vpc.addInterfaceEndpoint("Ecr", { service: InterfaceVpcEndpointAwsService.ECR });
  vpc.addInterfaceEndpoint("EcrDocker", { service: InterfaceVpcEndpointAwsService.ECR_DOCKER });
  vpc.addInterfaceEndpoint("Logs", { service: InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS });
  Validations.of(vpc).acknowledge(
    {
      id: "AwsSolutions-VPC7",
      reason: "Nothing enters or leaves but requests to DynamoDB, ECR and CloudWatch Logs, and those are logged there.",
    },
    { id: "AwsSolutions-EC23", reason: "The endpoints take requests from the network's own addresses alone." },
  );
  return vpc;
}

/**
 * Returns the subnets that candidates run in: those with a way out, else isolated ones. In isolated subnets every service that
 * the leader calls needs an endpoint of its own.
 * @throws {ConfigurationError} for public subnets.
 */
export function subnetsOf(vpc: IVpc, chosen: SubnetSelection | undefined): SubnetSelection {
  if (chosen) {
    if (!vpc.selectSubnets(chosen).hasPublic) return chosen;
    throw new ConfigurationError(
      "vpcSubnets has public subnets; candidates only send requests, and need no address that others can reach. Choose private or isolated ones.",
    );
  }
  if (vpc.privateSubnets.length > 0) return { subnetType: SubnetType.PRIVATE_WITH_EGRESS };
  if (vpc.isolatedSubnets.length > 0) return { subnetType: SubnetType.PRIVATE_ISOLATED };
  throw new ConfigurationError(
    "The vpc has public subnets alone; candidates belong in private or isolated ones. Give it some, or leave vpc out.",
  );
}
