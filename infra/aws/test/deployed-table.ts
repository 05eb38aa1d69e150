import type { Template } from "./synthesized-app.ts";

/** The region that the tests of DynamoDB use. */
export const REGION = "eu-central-1";

/**
 * Deploys a synthesized template to moto, with CreateStack.
 * @returns the stack's outputs.
 * @throws the error that moto returns.
 */
export async function createStack(url: string, stackName: string, template: Template): Promise<Record<string, string>> {
  const TemplateBody = JSON.stringify(forMoto(template));
  await cloudFormation(url, { Action: "CreateStack", StackName: stackName, TemplateBody });
  const described = await cloudFormation(url, { Action: "DescribeStacks", StackName: stackName });
  const status = /<StackStatus>(.*?)<\/StackStatus>/.exec(described)?.[1];
  if (status !== "CREATE_COMPLETE") throw new Error(`The stack is in the status ${status}: ${described}`);
  const outputs = described.matchAll(/<OutputKey>(.*?)<\/OutputKey>\s*<OutputValue>(.*?)<\/OutputValue>/g);
  return Object.fromEntries([...outputs].map(([, key = "", value = ""]) => [key, value]));
}

/** Asks moto to delete a stack. */
export async function deleteStack(url: string, stackName: string): Promise<void> {
  await cloudFormation(url, { Action: "DeleteStack", StackName: stackName });
}

/** Sends one request of the query protocol. moto ignores the signature, and finds the service in its scope. */
async function cloudFormation(url: string, parameters: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      Authorization: `AWS4-HMAC-SHA256 Credential=any/20260101/${REGION}/cloudformation/aws4_request, SignedHeaders=host, Signature=0`,
    },
    body: new URLSearchParams({ Version: "2010-05-15", ...parameters }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${parameters["Action"]} failed with ${response.status}: ${text}`);
  return text;
}

/**
 * Returns the template in a form that moto 5 supports: a global table of one region becomes a table. Leaves out the parameter and
 * the rule by which CDK requires its bootstrap stack, because there is none.
 */
function forMoto({ Resources, Outputs }: Template): object {
  const resources = Object.entries(Resources).map(([id, resource]) => {
    if (resource.Type !== "AWS::DynamoDB::GlobalTable") return [id, resource] as const;
    const { Replicas, ...properties } = resource.Properties as { readonly Replicas: readonly { readonly Region: unknown }[] };
    const [replica, ...others] = Replicas;
    if (!replica || others.length > 0) throw new Error("A table of several regions cannot be deployed to moto.");
    const { Region: _, ...local } = replica;
    return [id, { ...resource, Type: "AWS::DynamoDB::Table", Properties: { ...properties, ...local } }] as const;
  });
  return { Resources: Object.fromEntries(resources), Outputs };
}
