/** The suite against the simulated DynamoDB, in virtual time. */
import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import type { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { beforeAll } from "vitest";
import { MessageFaults } from "@leasehold/test-kit/conformance/message-faults";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { SimulatedService, warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { FOREIGN_ITEMS } from "@leasehold/test-kit/conformance/dynamodb-place";
import { ON_TABLES } from "./describe-conformance.ts";

/** A service for one case. */
class SimulatedPlace implements TestEnvironment {
  readonly clock: VirtualClock = new VirtualClock();
  readonly #service = new SimulatedService(this.clock);
  readonly #faults = new MessageFaults();

  connect(): Promise<DynamoDBLeaseStore> {
    return this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<DynamoDBLeaseStore> {
    return Promise.resolve(this.#service.promptStore(clock));
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  connectUnreliably(): Promise<UnreliableConnection> {
    const store = this.#service.promptStore(this.clock, (deliver) => this.#faults.carry(deliver));
    return Promise.resolve({ store, faults: this.#faults });
  }

  guard(): Promise<GuardedText> {
    const store = this.#service.promptStore(this.clock);
    let present = "";
    return Promise.resolve({
      read: () => Promise.resolve(present),
      write: (leadership, text) => {
        const passes = this.#service.admits(store.fence(leadership).ConditionCheck!);
        if (passes) present = text;
        return Promise.resolve(passes);
      },
    });
  }

  writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const key = { election: { S: election }, entry: { S: "lease" } };
    return Promise.resolve(this.#service.setItem(election, { ...key, ...FOREIGN_ITEMS[what] }));
  }

  readRaw(election: string): Promise<unknown> {
    return Promise.resolve(this.#service.item(election));
  }

  remove(election: string): Promise<void> {
    return Promise.resolve(this.#service.deleteItem(election));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing outlives the case.
  }
}

beforeAll(warmUp);

runConformance({ ...ON_TABLES, name: "dynamodb (simulated)", open: () => Promise.resolve(new SimulatedPlace()) });
