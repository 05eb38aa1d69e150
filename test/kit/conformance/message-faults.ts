import type { Faults, HeldRequests } from "@leasehold/conformance";

type State = "good" | "requests-lost" | "replies-lost" | "held" | "duplicated";

/** The faults of a network without sockets, for services in this process and in virtual time. */
export class MessageFaults implements Faults {
  #state: State = "good";
  #gate = Promise.withResolvers<void>();
  #arrived = Promise.withResolvers<void>();
  #held: Array<Promise<unknown>> = [];

  /** Carries one request through the present fault. A lost request or reply never settles. */
  async carry<T>(deliver: () => T | Promise<T>): Promise<T> {
    switch (this.#state) {
      case "good":
        return await deliver();
      case "requests-lost":
        return await silence();
      case "replies-lost":
        await deliver();
        return await silence();
      case "duplicated":
        this.#state = "good";
        await deliver();
        return await deliver();
      case "held": {
        const delivered = this.#gate.promise.then(deliver);
        this.#held.push(delivered);
        this.#arrived.resolve();
        return await delivered;
      }
    }
  }

  async loseRequests(): Promise<void> {
    this.#state = "requests-lost";
  }

  async loseReplies(): Promise<void> {
    this.#state = "replies-lost";
  }

  async duplicate(): Promise<void> {
    this.#state = "duplicated";
  }

  async heal(): Promise<void> {
    this.#state = "good";
  }

  async hold(): Promise<HeldRequests> {
    this.#state = "held";
    const [gate, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held: Array<Promise<unknown>> = [];
    this.#gate = gate;
    this.#arrived = arrived;
    this.#held = held;
    return {
      arrived: arrived.promise,
      letGo: async () => {
        gate.resolve();
        await Promise.allSettled(held);
      },
    };
  }
}

function silence(): Promise<never> {
  return new Promise(() => undefined);
}
