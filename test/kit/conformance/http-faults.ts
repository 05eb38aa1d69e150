import type { Faults, HeldRequests } from "@leasehold/conformance";
import type { Fault } from "../faults/fault.ts";
import type { FaultProxy } from "../faults/fault-proxy.ts";

/** Applies the faults of a {@link FaultProxy} to all requests through it. */
export class HttpFaults implements Faults {
  readonly #proxy: FaultProxy;
  /** The present fault of every request. */
  #fault: Fault | undefined;

  constructor(through: FaultProxy) {
    this.#proxy = through;
  }

  /** Resolves once a request that is sent now cannot get any further; `undefined` if it will be answered. */
  get farthest(): Promise<unknown> | undefined {
    const fault = this.#fault;
    if (fault?.kind !== "black-hole" || fault.side === "request") return fault && Promise.resolve();
    return this.#proxy.waitFor((request) => request.fault === fault && request.deliveries[0]?.status !== undefined);
  }

  async loseRequests(): Promise<void> {
    this.#begin({ kind: "black-hole", side: "request" });
  }

  async loseReplies(): Promise<void> {
    this.#begin({ kind: "black-hole", side: "reply" });
  }

  async hold(): Promise<HeldRequests> {
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const { promise: arrived, resolve: hasArrived } = Promise.withResolvers<void>();
    const fault: Fault = { kind: "hold", until };
    this.#begin(fault, hasArrived);
    const letGo = async (): Promise<void> => {
      release();
      const held = this.#proxy.requests.filter((request) => request.fault === fault);
      for (const one of held) await this.#proxy.waitFor((request) => request === one && one.deliveries[0]?.status !== undefined);
    };
    return { arrived, letGo };
  }

  async duplicate(): Promise<void> {
    const duplicate: Fault = { kind: "duplicate" };
    this.#fault = undefined;
    this.#proxy.rule = () => {
      this.#proxy.rule = undefined;
      return duplicate;
    };
  }

  async heal(): Promise<void> {
    this.#fault = undefined;
    this.#proxy.rule = undefined;
    this.#proxy.passes = undefined;
  }

  #begin(fault: Fault, onRequest?: () => void): void {
    this.#fault = fault;
    // Streams stall meanwhile, and lose their data.
    this.#proxy.passes = () => false;
    this.#proxy.rule = () => {
      onRequest?.();
      return fault;
    };
  }
}
