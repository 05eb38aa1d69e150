import { carry, type Network, type ProcessClock, type VirtualClock } from "@leasehold/core/testing";
import type { KubernetesApi, WatchEvent } from "./kubernetes-api.ts";
import type { Json } from "./kubernetes-objects.ts";

/** The way of one process to a simulated API server. */
export interface KubernetesWay {
  readonly api: KubernetesApi;
  readonly world: VirtualClock;
  readonly process: ProcessClock;
  readonly network: Network;
  /** Makes the failure of a refusal, as the provider's own transport does. */
  readonly failureOf: (status: number, body: Json, retryAfterMs?: number) => Error;
  /** Called before the server carries out a request, with the time at which it was sent. */
  readonly onArrival?: (sentMs: number) => void;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body?: Json | undefined;
}

/** Returns a transport of the Kubernetes provider in virtual time. */
export function simulatedTransport(way: KubernetesWay): {
  call(request: Request, signal: AbortSignal): Promise<Json>;
  watch(path: string, signal: AbortSignal): Promise<AsyncIterable<Json>>;
} {
  const { api, world, process, network, failureOf } = way;
  return {
    async call(request) {
      const sentMs = world.monotonicMs();
      const passage = network({ operation: request.method === "GET" ? "get" : "put" });
      const contentType = request.method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const { status, body, headers } = await carry(world, process, passage, () => {
        way.onArrival?.(sentMs);
        return api.handle({ ...request, contentType });
      });
      const waitS = headers?.["retry-after"];
      if (status >= 300) throw failureOf(status, body, waitS === undefined ? undefined : Number(waitS) * 1_000);
      // A reply is a text: it shares nothing with the server.
      return structuredClone(body);
    },

    async watch(path, signal) {
      const events = new Events();
      const deliver = (begins: boolean, arrive: () => void): void => {
        for (const { replyAfterMs } of network({ operation: "watch", begins }).arrivals) {
          if (replyAfterMs !== undefined) world.setTimer(() => process.deliver(arrive), replyAfterMs);
        }
      };
      const stands = Promise.withResolvers<void>();
      const begun = api.watch({ method: "GET", path }, (event) => {
        deliver(false, () => events.push(event));
        if (event.type === "ERROR") deliver(false, () => events.end());
      });
      if ("status" in begun) throw failureOf(begun.status, begun.body);
      const end = (): void => {
        begun.leave();
        events.end(signal.reason as Error);
        stands.reject(signal.reason);
      };
      if (signal.aborted) end();
      signal.addEventListener("abort", end, { once: true });
      const { timeoutSeconds } = begun;
      if (timeoutSeconds !== undefined) world.setIdleTimer(() => deliver(false, () => events.end()), timeoutSeconds * 1_000);
      deliver(true, () => stands.resolve());
      await stands.promise;
      return events.read();
    },
  };
}

/** The events of a watch that its reader has not taken yet. */
class Events {
  readonly #waiting: WatchEvent[] = [];
  #wake = Promise.withResolvers<void>();
  #isOver = false;
  #failure: Error | undefined;

  push(event: WatchEvent): void {
    this.#waiting.push(structuredClone(event));
    this.#wake.resolve();
  }

  /** @param failure what the reader gets instead of an end. */
  end(failure?: Error): void {
    this.#isOver = true;
    this.#failure ??= failure;
    this.#wake.resolve();
  }

  async *read(): AsyncGenerator<Json, void, undefined> {
    for (;;) {
      for (let event = this.#waiting.shift(); event; event = this.#waiting.shift()) yield { ...event };
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isOver) return;
      this.#wake = Promise.withResolvers();
      await this.#wake.promise;
    }
  }
}
