import { Cluster, ContainerImage, FargateTaskDefinition } from "aws-cdk-lib/aws-ecs";
import { Role, ServicePrincipal, SessionTagsPrincipal, type IGrantable } from "aws-cdk-lib/aws-iam";
import { ContextAttribute, Schedule, ScheduleExpression, ScheduleTargetInput } from "aws-cdk-lib/aws-scheduler";
import { EcsRunFargateTask } from "aws-cdk-lib/aws-scheduler-targets";
import type { Stack } from "aws-cdk-lib/core";
import { expect, test } from "vitest";
import { LeaseTable } from "../src/index.ts";
import { allows, type Statement } from "./iam-evaluator.ts";
import { existingVpc, onlyOf, resourcesOf, strictStack, TABLE_ARN } from "./strict-app.ts";

function mayCompete(stack: Stack, grantee: IGrantable): boolean[] {
  LeaseTable.fromTableArn(stack, "Leases", TABLE_ARN).grantCandidate(grantee, "close").assertSuccess();
  const policies = resourcesOf<{ PolicyDocument: { Statement: Statement[] } }>(stack, "AWS::IAM::Policy");
  const statements = policies.flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
  return ["close", "other"].map((election) =>
    allows(statements, {
      action: "dynamodb:UpdateItem",
      resource: TABLE_ARN,
      context: { "dynamodb:LeadingKeys": [election] },
    }),
  );
}

test("a role for pods of EKS may compete, and the agent of EKS may assume it", () => {
  const stack = strictStack();
  const pods = new Role(stack, "Pods", { assumedBy: new SessionTagsPrincipal(new ServicePrincipal("pods.eks.amazonaws.com")) });
  expect(mayCompete(stack, pods)).toEqual([true, false]);
  expect(onlyOf(stack, "AWS::IAM::Role").Properties).toMatchObject({
    AssumeRolePolicyDocument: {
      Statement: [{ Action: ["sts:AssumeRole", "sts:TagSession"], Principal: { Service: "pods.eks.amazonaws.com" } }],
    },
  });
});

test("a role that was made elsewhere may compete", () => {
  const stack = strictStack({ env: { account: "123456789012", region: "eu-central-1" } });
  const role = Role.fromRoleArn(stack, "Role", "arn:aws:iam::123456789012:role/billing");
  expect(mayCompete(stack, role)).toEqual([true, false]);
});

test("a task of ECS on a schedule gets the time of its tick as the key of its occurrence", () => {
  const stack = strictStack();
  const taskDefinition = new FargateTaskDefinition(stack, "Close");
  taskDefinition.addContainer("close", { image: ContainerImage.fromRegistry("registry.example/close:1") });
  const command = ["leasehold", "run", "--occurrence", ContextAttribute.scheduledTime, "--", "./close"];
  new Schedule(stack, "Nightly", {
    schedule: ScheduleExpression.cron({ minute: "0", hour: "3" }),
    target: new EcsRunFargateTask(new Cluster(stack, "Cluster", { vpc: existingVpc(stack) }), {
      taskDefinition,
      input: ScheduleTargetInput.fromObject({ containerOverrides: [{ name: "close", command }] }),
    }),
  });
  expect(mayCompete(stack, taskDefinition.taskRole)).toEqual([true, false]);
  const { Properties } = onlyOf<{ Target: { Input: string } }>(stack, "AWS::Scheduler::Schedule");
  expect(JSON.parse(Properties.Target.Input)).toEqual({
    containerOverrides: [
      { name: "close", command: ["leasehold", "run", "--occurrence", "<aws.scheduler.scheduled-time>", "--", "./close"] },
    ],
  });
});
