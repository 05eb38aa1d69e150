/** The suite on the provider in virtual time, over the kit's server as Cloud Storage without a network. */
import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import { isLeaseholdError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { MessageFaults } from "@leasehold/test-kit/conformance/message-faults";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";
import { ObjectBucket } from "@leasehold/test-kit/object-server/object-bucket";
import { BUCKET } from "@leasehold/test-kit/object-server/server";
import { directClient, type Carry } from "@leasehold/test-kit/simulated/object-client";
import { ON_OBJECTS } from "./run-on-objects.ts";

const GUARDED = "documents/guarded";
const promptly: Carry = async (serve) => await Promise.resolve(serve());

/** A bucket for one case. */
class SimulatedPlace implements TestEnvironment {
  readonly clock: VirtualClock = new VirtualClock();
  readonly #bucket = new ObjectBucket(BUCKET, () => Date.UTC(2026, 0, 1) + this.clock.monotonicMs());
  readonly #faults = new MessageFaults();

  async connect(): Promise<ObjectStorageLeaseStore> {
    return await this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<ObjectStorageLeaseStore> {
    return Promise.resolve(this.#store(clock, promptly));
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    const store = this.#store(this.clock, async (serve) => await this.#faults.carry(serve));
    // After this the store has proven the conditions.
    await warmUp(store);
    return { store, faults: this.#faults };
  }

  async guard(): Promise<GuardedText> {
    const store = await this.connect();
    return guardedText({
      store,
      document: () => ({
        read: () => Promise.resolve(this.#text(GUARDED)),
        update: async (leadership, change) => await store.fencedPut(leadership, GUARDED, change(this.#text(GUARDED))),
        write: async (leadership, content) => await store.fencedPut(leadership, GUARDED, content),
      }),
      isRefusal: (error) => isLeaseholdError(error, "FENCED"),
      close: () => Promise.resolve(),
    });
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const text = what === "foreign" ? "do not touch" : JSON.stringify({ schema: 2, term: 7 });
    this.#bucket.put(`leasehold/${election}`, new TextEncoder().encode(text), {}, undefined);
  }

  readRaw(election: string): Promise<unknown> {
    return Promise.resolve(this.#bucket.objects.get(`leasehold/${election}`));
  }

  async remove(election: string): Promise<void> {
    this.#bucket.objects.delete(`leasehold/${election}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing outlives the case.
  }

  #text(key: string): string {
    return new TextDecoder().decode(this.#bucket.objects.get(key)?.body);
  }

  #store(clock: Clock, carry: Carry): ObjectStorageLeaseStore {
    return new ObjectStorageLeaseStore({ client: directClient(this.#bucket, carry), bucket: BUCKET, clock });
  }
}

runConformance({ ...ON_OBJECTS, name: "object-storage (simulated)", open: () => Promise.resolve(new SimulatedPlace()) });
