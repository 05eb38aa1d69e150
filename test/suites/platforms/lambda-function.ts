import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** The outcome of an invocation. */
export type Invoked = { readonly response: unknown } | { readonly errorType: string; readonly errorMessage: string };

export interface FunctionOptions {
  readonly name: string;
  /** The module of the handler, and the name of its export. */
  readonly module: URL;
  readonly handler: string;
  readonly environment?: Readonly<Record<string, string>>;
}

interface Invocation {
  readonly id: string;
  readonly event: unknown;
  readonly timeoutMs: number;
  readonly invoked: PromiseWithResolvers<Invoked>;
}

const RUNTIME = fileURLToPath(new URL("./lambda-runtime.ts", import.meta.url));
/** The error of a runtime that has started and then fails to load its handler. */
const INIT_ERROR = "Runtime.InitError";

/**
 * One instance of a Lambda function: a process of its own behind the runtime interface. As on Lambda it is frozen (with SIGSTOP)
 * as soon as it has answered, and thawed when the next event comes.
 */
export class LambdaFunction implements AsyncDisposable {
  readonly #server: Server;
  readonly #process: ChildProcess;
  #waiting: ServerResponse | undefined;
  #current: Invocation | undefined;
  #queued: Invocation | undefined;
  #frozen = false;
  #stderr = "";
  readonly #name: string;
  #ids = 0;

  private constructor(server: Server, options: FunctionOptions) {
    this.#server = server;
    this.#name = options.name;
    const { port } = server.address() as AddressInfo;
    const args = ["--conditions=@leasehold/source", RUNTIME, fileURLToPath(options.module), options.handler];
    this.#process = spawn(process.execPath, args, {
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        ...process.env,
        ...options.environment,
        AWS_LAMBDA_RUNTIME_API: `127.0.0.1:${port}`,
        AWS_LAMBDA_FUNCTION_NAME: options.name,
      },
    });
    this.#process.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      this.#stderr = (this.#stderr + chunk).slice(-10_000);
    });
    this.#process.once("exit", () => this.#settle({ errorType: "Runtime.ExitError", errorMessage: this.#stderr }));
    server.on("request", (request, response) => void this.#serve(request, response));
  }

  static async start(options: FunctionOptions): Promise<LambdaFunction> {
    // Longer than any freeze, because a thawed runtime must not find its connection closed.
    const server = createServer({ keepAliveTimeout: 600_000 });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new LambdaFunction(server, options);
  }

  get pid(): number {
    return this.#process.pid as number;
  }

  /**
   * Delivers an event, and returns the outcome. The process is frozen by then. Only one invocation runs at a time. A request has
   * an id of its own, unless it is delivered again.
   */
  async invoke(
    event: unknown,
    { timeoutMs = 30_000, requestId }: { readonly timeoutMs?: number; readonly requestId?: string } = {},
  ): Promise<Invoked> {
    this.#ids += 1;
    const invocation: Invocation = {
      id: requestId ?? `${this.#name}-${this.#ids}`,
      event,
      timeoutMs,
      invoked: Promise.withResolvers(),
    };
    this.#queued = invocation;
    if (this.#frozen) this.thaw();
    this.#deliver();
    return await invocation.invoked.promise;
  }

  freeze(): void {
    this.#frozen = true;
    process.kill(this.pid, "SIGSTOP");
  }

  thaw(): void {
    this.#frozen = false;
    process.kill(this.pid, "SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const exit = once(this.#process, "exit");
      this.#process.kill("SIGKILL");
      await exit;
    }
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, , , ...path] = (request.url ?? "").split("/");
    const what = path.at(-1);
    if (what === "next") {
      this.#waiting = response;
      this.#deliver();
      return;
    }
    const body = JSON.parse(await text(request)) as { errorType?: string; errorMessage?: string };
    const failed = what === "error";
    // Freeze before the runtime gets the reply to its answer, so that nothing runs in the instance after it.
    if (path[0] !== "init") this.freeze();
    response.writeHead(202).end();
    const { errorType = INIT_ERROR, errorMessage = "" } = failed ? body : {};
    this.#settle(failed ? { errorType, errorMessage } : { response: body });
  }

  #deliver(): void {
    if (!this.#waiting || !this.#queued) return;
    const { id, event, timeoutMs } = this.#queued;
    this.#waiting.setHeader("Lambda-Runtime-Aws-Request-Id", id);
    // The time counts from here, as on Lambda. The start of the process is not part of it.
    this.#waiting.setHeader("Lambda-Runtime-Deadline-Ms", String(Date.now() + timeoutMs));
    this.#waiting.setHeader("Content-Type", "application/json");
    this.#waiting.end(JSON.stringify(event));
    this.#current = this.#queued;
    this.#waiting = undefined;
    this.#queued = undefined;
  }

  #settle(invoked: Invoked): void {
    (this.#current ?? this.#queued)?.invoked.resolve(invoked);
    this.#current = undefined;
    this.#queued = undefined;
  }
}
