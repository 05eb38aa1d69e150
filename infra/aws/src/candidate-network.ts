import { ConfigurationError } from "@leasehold/core";
import type { IVpc, SubnetSelection } from "aws-cdk-lib/aws-ec2";
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
 * Returns the subnets that candidates run in. By default CDK chooses those with a way out, else isolated ones.
 * @throws {ConfigurationError} for public subnets.
 */
export function subnetsOf(vpc: IVpc, chosen: SubnetSelection = {}): SubnetSelection {
  if (!vpc.selectSubnets(chosen).hasPublic) return chosen;
  throw new ConfigurationError(
    "These subnets of the vpc are public. Candidates only send requests, and need no address that others can reach: give the vpc private or isolated subnets, or choose such ones in vpcSubnets.",
  );
}
