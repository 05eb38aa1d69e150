import { BlobLeaseStore } from "@leasehold/azure-blob";
import type { GuardedText, StoreUnderTest, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import { afterAll, beforeAll } from "vitest";
import { BlobWorld } from "./blob-world.ts";
import { ON_BLOBS } from "./on-blobs.ts";
import { startAzurite, type Azurite } from "@leasehold/test-kit/backends/azurite";
import { startFaultProxy, type FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { freshBlob } from "@leasehold/test-kit/backends/fresh-container";
import { azure, azureSettings } from "@leasehold/test-kit/stores/azure";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { HttpFaults } from "@leasehold/test-kit/conformance/http-faults";
import { runConformance, SOME_ROUNDS, type RunOptions } from "@leasehold/test-kit/conformance/run-conformance";

/** Registers the suite on Azurite. */
export function describeOnAzurite(options: RunOptions = {}): void {
  let azurite: Azurite;
  let proxy: FaultProxy;

  beforeAll(async () => {
    azurite = await startAzurite();
    proxy = await startFaultProxy(azurite.url);
    // Azurite's first answers take a second, which must not count in a case.
    await (await freshBlob(azurite.url)).getBlobLeaseClient().acquireLease(15);
  });

  afterAll(async () => {
    await proxy.stop();
    await azurite.stop();
  });

  const subject: StoreUnderTest = {
    ...ON_BLOBS,
    name: "azure-blob (Azurite)",
    rounds: SOME_ROUNDS,
    // Azurite needs a request for each second: ten minutes would take ten seconds.
    outageMs: 120_000,
    open: () => Promise.resolve(new BlobPlace(new BlobWorld(azurite, proxy), azurite.url)),
  };
  runConformance(subject, options);
}

/** A container for one case, with the clock of a {@link BlobWorld}. */
class BlobPlace implements TestEnvironment {
  readonly #world: BlobWorld;
  readonly #url: string;
  readonly #faults: HttpFaults;

  constructor(world: BlobWorld, url: string) {
    this.#world = world;
    this.#url = url;
    this.#faults = new HttpFaults(world.proxy);
  }

  get clock(): Clock {
    return this.#world.clock;
  }

  connect(): Promise<BlobLeaseStore> {
    return this.connectWith(this.clock);
  }

  connectWith(clock: Clock): Promise<BlobLeaseStore> {
    return Promise.resolve(new BlobLeaseStore({ container: this.#world.container, clock, createContainer: true }));
  }

  async pass(ms: number): Promise<void> {
    await this.#world.pass(ms);
  }

  connectUnreliably(): Promise<UnreliableConnection> {
    return Promise.resolve({ store: this.#world.store(), faults: this.#faults });
  }

  async guard(): Promise<GuardedText> {
    return guardedText(await azure.open(azureSettings(this.#url, this.#world.container.containerName)));
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    await this.#world.container.createIfNotExists();
    const blob = this.#world.container.getBlockBlobClient(election);
    if (what === "foreign") await blob.upload("do not touch", 12, { metadata: { owner: "somebody" } });
    else await blob.upload("", 0, { metadata: { leasehold_schema: "2", leasehold_term: "7" } });
  }

  async readRaw(election: string): Promise<unknown> {
    const blob = this.#world.container.getBlobClient(election);
    const { etag, metadata, leaseState } = await blob.getProperties();
    return { etag, metadata, leaseState, content: (await blob.downloadToBuffer()).toString() };
  }

  async remove(election: string): Promise<void> {
    const blob = this.#world.container.getBlobClient(election);
    await blob.getBlobLeaseClient().breakLease(0);
    await blob.delete();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world.dispose();
  }
}
