import { AwsSolutionsChecks } from "cdk-nag";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { App, Stack, type StackProps } from "aws-cdk-lib/core";
import settings from "../cdk.json" with { type: "json" };

/** An app with the settings of the one that is deployed, CloudFormation's validation among them; nothing is bundled. */
export function strictApp(): App {
  return new App({ context: { ...settings.context, "aws:cdk:bundling-stacks": [] } });
}

/** The region of the stacks here, which every table needs to know. */
export const REGION = "eu-central-1";
/** A table that was made elsewhere. */
export const TABLE_ARN = `arn:aws:dynamodb:${REGION}:123456789012:table/leases`;

/** A stack of its own app. */
export function strictStack(props: StackProps = { env: { region: REGION } }): Stack {
  return new Stack(strictApp(), "Stack", props);
}

/** The resources of one type in a stack's template. @throws what CloudFormation's validation finds. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- an assertion on what the template is known to hold
export function resourcesOf<Properties>(
  stack: Stack,
  type: string,
): { readonly Properties: Properties; readonly [other: string]: unknown }[] {
  return Object.values(Template.fromStack(stack).findResources(type)) as never;
}

/** The one resource of a type. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- an assertion on what the template is known to hold
export function onlyOf<Properties = Record<string, unknown>>(
  stack: Stack,
  type: string,
): { readonly Properties: Properties; readonly [other: string]: unknown } {
  const found = resourcesOf<Properties>(stack, type);
  if (found.length !== 1 || !found[0]) throw new Error(`There are ${found.length} of ${type}.`);
  return found[0];
}

/** The warnings that people see at synthesis. */
export function warningsOf(stack: Stack): string[] {
  return Annotations.fromStack(stack)
    .findWarning("*", Match.anyValue())
    .map(({ entry }) => entry.data as string);
}

/** What cdk-nag finds, without what is acknowledged. */
export function nagFindings(stack: Stack): string[] {
  const app = stack.node.root as App;
  return new AwsSolutionsChecks(app)
    .validateScope(app)
    .violations.flatMap(({ ruleName, violatingResources }) =>
      violatingResources.map(({ resourceLogicalId }) => `${ruleName} ${resourceLogicalId ?? ""}`),
    );
}
