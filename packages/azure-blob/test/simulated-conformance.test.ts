/** The suite against the simulated Blob Storage, in virtual time. `simulated-service.test.ts` compares that service with Azurite. */
import type { BlobLeaseStore } from "@leasehold/azure-blob";
import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import { isLeaseholdError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { MessageFaults } from "@leasehold/test-kit/conformance/message-faults";
import { runConformance } from "@leasehold/test-kit/conformance/run-conformance";
import { ON_BLOBS } from "./on-blobs.ts";
import { VirtualAzure } from "./virtual-azure.ts";

/** A service for one case. */
class SimulatedPlace implements TestEnvironment {
  readonly #azure = new VirtualAzure();
  readonly #faults = new MessageFaults();
  readonly #admin = this.#azure.connect();

  get clock(): Clock {
    return this.#azure.clock;
  }

  connect(): Promise<BlobLeaseStore> {
    return this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<BlobLeaseStore> {
    return Promise.resolve(this.#azure.connect({ clock }).store);
  }

  async pass(ms: number): Promise<void> {
    await this.#azure.clock.advance(ms);
  }

  connectUnreliably(): Promise<UnreliableConnection> {
    const connection = this.#azure.connect();
    connection.onRequest = (_, send) => this.#faults.carry(send);
    return Promise.resolve({ store: connection.store, faults: this.#faults });
  }

  guard(): Promise<GuardedText> {
    const { store, container } = this.#admin;
    const blob = container.getBlockBlobClient("documents/guarded");
    return Promise.resolve({
      read: () => Promise.resolve(this.#azure.service.content("documents/guarded")),
      write: async (leadership, text) =>
        await store.fencedUpload(leadership, blob, text).then(
          () => true,
          (error: unknown) => {
            if (isLeaseholdError(error, "FENCED")) return false;
            throw error;
          },
        ),
    });
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    const { container } = this.#admin;
    await container.create().catch(() => undefined);
    const blob = container.getBlockBlobClient(election);
    if (what === "foreign") await blob.upload("do not touch", 12, { metadata: { owner: "somebody" } });
    else await blob.upload("", 0, { metadata: { leasehold_schema: "2", leasehold_term: "7" } });
  }

  async readRaw(election: string): Promise<unknown> {
    const { etag, metadata, leaseState } = await this.#admin.container.getBlobClient(election).getProperties();
    return { etag, metadata, leaseState, content: this.#azure.service.content(election) };
  }

  async remove(election: string): Promise<void> {
    const blob = this.#admin.container.getBlobClient(election);
    await blob.getBlobLeaseClient().breakLease(0);
    await blob.delete();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing outlives the case.
  }
}

runConformance({
  ...ON_BLOBS,
  name: "azure-blob (simulated)",
  open: () => Promise.resolve(new SimulatedPlace()),
});
