import { ConfigurationError } from "@leasehold/core";
import { SubnetType, type IVpc, type SubnetSelection } from "aws-cdk-lib/aws-ec2";
import { AnyPrincipal, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Aws } from "aws-cdk-lib/core";
import { ADMINISTRATOR_ACTIONS, OPERATOR_ACTIONS, TABLE_ACTIONS } from "./election-statements.ts";
import type { ILeaseTable } from "./lease-table-base.ts";

/**
 * Allows requests to these tables of leases. As the only statement of a gateway endpoint's policy it closes the endpoint to every
 * other table: `endpoint.addToPolicy(leaseEndpointStatement(table))`.
 */
export function leaseEndpointStatement(...tables: [ILeaseTable, ...ILeaseTable[]]): PolicyStatement {
  return new PolicyStatement({
    principals: [new AnyPrincipal()],
    actions: [...new Set([...ADMINISTRATOR_ACTIONS, ...OPERATOR_ACTIONS, ...TABLE_ACTIONS])],
    resources: tables.map(({ tableArn }) => tableArn),
  });
}

/**
 * Allows reading the layers of images in Amazon ECR, for the policy of a gateway endpoint for S3.
 * https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
 */
export function imageEndpointStatement(): PolicyStatement {
  return new PolicyStatement({
    principals: [new AnyPrincipal()],
    actions: ["s3:GetObject"],
    resources: [`arn:${Aws.PARTITION}:s3:::prod-${Aws.REGION}-starport-layer-bucket/*`],
  });
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
  throw new ConfigurationError("The vpc has public subnets alone; candidates belong in private or isolated ones. Give it some.");
}
