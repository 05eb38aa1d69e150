import Module from "node:module";

/**
 * The part of Azure's Node worker that the package `@azure/functions` needs: the module `@azure/functions-core`, which exists
 * only inside the worker. Functions register themselves there. They are invoked by the model that the package sets, in the
 * worker's own steps (azure-functions-nodejs-worker, InvocationHandler). Import this before any module that registers a function.
 */
interface Model {
  getInvocationModel(core: object): {
    getArguments(): Promise<{ readonly context: object; readonly inputs: unknown[] }>;
    invokeFunction(context: object, inputs: unknown[], callback: unknown): Promise<unknown>;
    getResponse(context: object, result: unknown): Promise<{ readonly returnValue?: Record<string, unknown> }>;
  };
}

interface Registered {
  readonly metadata: { readonly name: string; readonly bindings: Readonly<Record<string, { readonly type: string }>> };
  readonly callback: unknown;
}

const registered = new Map<string, Registered>();
let model: Model | undefined;
let invocations = 0;

const core = {
  setProgrammingModel: (given: Model): void => {
    model = given;
  },
  registerFunction: (metadata: Registered["metadata"], callback: unknown): object => {
    registered.set(metadata.name, { metadata, callback });
    return { dispose: () => registered.delete(metadata.name) };
  },
};

type Load = (request: string, ...rest: unknown[]) => unknown;
const loader = Module as unknown as { _load: Load };
const load = loader._load.bind(Module);
loader._load = (request, ...rest) => (request === "@azure/functions-core" ? core : load(request, ...rest));

/** The outcome of an invocation, as the worker reports it to the host. */
export interface Invoked {
  readonly returnValue: unknown;
  readonly logs: readonly string[];
}

/** Returns the host's data of a timer, in its own letter case. `next` is the time at which this invocation was due. */
export function timerPayload(next: string | undefined): object {
  const ScheduleStatus = next && { Last: "2026-11-20T09:00:00+00:00", Next: next, LastUpdated: "2026-11-20T09:00:00+00:00" };
  return { Schedule: { AdjustForDST: true }, ScheduleStatus: ScheduleStatus ?? null, IsPastDue: false };
}

/**
 * Invokes a registered function with the data of its trigger. @throws the function's error.
 * @param onLog gets each line that the function logs, at once.
 */
export async function invoke(name: string, trigger: object, onLog: (line: string) => void = () => {}): Promise<Invoked> {
  const { metadata, callback } = registered.get(name) ?? {};
  if (!model || !metadata) throw new Error(`No function '${name}' has registered itself with @azure/functions.`);
  invocations += 1;
  const [binding] = Object.keys(metadata.bindings);
  const logs: string[] = [];
  const invocation = model.getInvocationModel({
    invocationId: `invocation-${invocations}`,
    metadata,
    request: { inputData: [{ name: binding, data: { json: JSON.stringify(trigger) } }], triggerMetadata: {} },
    log: (_level: string, _category: string, message: string) => {
      logs.push(message);
      onLog(message);
    },
    state: undefined,
  });
  const { context, inputs } = await invocation.getArguments();
  const result = await invocation.invokeFunction(context, inputs, callback);
  const { returnValue } = await invocation.getResponse(context, result);
  return { returnValue: decoded(returnValue), logs };
}

/** Decodes the host's typed data, of the kinds that a function here returns. */
function decoded({ json, ...scalar }: Record<string, unknown> = {}): unknown {
  return typeof json === "string" ? JSON.parse(json) : Object.values(scalar)[0];
}
