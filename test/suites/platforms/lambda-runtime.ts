/**
 * Does the work of Lambda's Node runtime, by the documented interface: requests the next event, calls the handler, and reports
 * the outcome. https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 *
 * `node lambda-runtime.ts <module> <export>`, with AWS_LAMBDA_RUNTIME_API and AWS_LAMBDA_FUNCTION_NAME in its environment.
 */
import { pathToFileURL } from "node:url";

type Handler = (event: unknown, context: object) => Promise<unknown>;

const [, , module = "", name = ""] = process.argv;
const api = `http://${process.env["AWS_LAMBDA_RUNTIME_API"]}/2018-06-01/runtime`;
const functionName = process.env["AWS_LAMBDA_FUNCTION_NAME"] ?? "";

async function post(path: string, body: unknown): Promise<void> {
  await fetch(`${api}/${path}`, { method: "POST", body: JSON.stringify(body ?? null) });
}

function errorOf(error: unknown): object {
  const { name: errorType, message: errorMessage, stack = "" } = error as Error;
  return { errorType, errorMessage, trace: stack.split("\n") };
}

async function load(): Promise<Handler> {
  try {
    return ((await import(pathToFileURL(module).href)) as Record<string, Handler>)[name] as Handler;
  } catch (error) {
    await post("init/error", errorOf(error));
    throw error;
  }
}

const handler = await load();
for (;;) {
  const next = await fetch(`${api}/invocation/next`);
  const awsRequestId = next.headers.get("lambda-runtime-aws-request-id") ?? "";
  const deadlineMs = Number(next.headers.get("lambda-runtime-deadline-ms"));
  const event: unknown = await next.json();
  const context = { awsRequestId, functionName, getRemainingTimeInMillis: () => deadlineMs - Date.now() };
  try {
    await post(`invocation/${awsRequestId}/response`, await handler(event, context));
  } catch (error) {
    await post(`invocation/${awsRequestId}/error`, errorOf(error));
  }
}
