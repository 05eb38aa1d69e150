import { AwsSolutionsChecks } from "cdk-nag";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { Vpc, type IVpc } from "aws-cdk-lib/aws-ec2";
import { App, Stack, type StackProps } from "aws-cdk-lib/core";
import settings from "../cdk.json" with { type: "json" };

/** An app with the settings of the deployed one, CloudFormation's validation included. It bundles nothing. */
export function strictApp(): App {
  return new App({ context: { ...settings.context, "aws:cdk:bundling-stacks": [] } });
}

/** The region of the stacks here. Every table needs it. */
export const REGION = "eu-central-1";
/** A table that was made elsewhere. */
export const TABLE_ARN = `arn:aws:dynamodb:${REGION}:123456789012:table/leases`;

/** A stack in its own app. */
export function strictStack(props: StackProps = { env: { region: REGION } }): Stack {
  return new Stack(strictApp(), "Stack", props);
}

/** Returns the resources of one type in a stack's template. @throws the faults that CloudFormation's validation finds. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- an assertion on what the template is known to hold
export function resourcesOf<Properties>(
  stack: Stack,
  type: string,
): { readonly Properties: Properties; readonly [other: string]: unknown }[] {
  return Object.values(Template.fromStack(stack).findResources(type)) as never;
}

/** Returns the one resource of a type. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- an assertion on what the template is known to hold
export function onlyOf<Properties = Record<string, unknown>>(
  stack: Stack,
  type: string,
): { readonly Properties: Properties; readonly [other: string]: unknown } {
  const found = resourcesOf<Properties>(stack, type);
  if (found.length !== 1 || !found[0]) throw new Error(`There are ${found.length} of ${type}.`);
  return found[0];
}

/** Returns the warnings that synthesis prints. */
export function warningsOf(stack: Stack): string[] {
  return Annotations.fromStack(stack)
    .findWarning("*", Match.anyValue())
    .map(({ entry }) => entry.data as string);
}

/** Returns the faults that cdk-nag finds and that are not acknowledged. */
export function nagFindings(stack: Stack): string[] {
  const app = stack.node.root as App;
  return new AwsSolutionsChecks(app)
    .validateScope(app)
    .violations.flatMap(({ ruleName, violatingResources }) =>
      violatingResources.map(({ resourceLogicalId }) => `${ruleName} ${resourceLogicalId ?? ""}`),
    );
}

/** The ids of the private subnets of {@link existingVpc}. */
export const SUBNETS = ["subnet-0a1b2c3d4e5f60718", "subnet-0a1b2c3d4e5f60719"];

/** A network that was made elsewhere. */
export function existingVpc(stack: Stack): IVpc {
  return Vpc.fromVpcAttributes(stack, "Existing", {
    vpcId: "vpc-0a1b2c3d4e5f60718",
    availabilityZones: [`${REGION}a`, `${REGION}b`],
    privateSubnetIds: SUBNETS,
    privateSubnetRouteTableIds: ["rtb-0a1b2c3d4e5f60718", "rtb-0a1b2c3d4e5f60719"],
  });
}
