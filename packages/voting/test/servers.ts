import { rm } from "node:fs/promises";
import { onTestFinished, vi } from "vitest";
import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { VotingLeaseStore, type VotingLeaseStoreOptions } from "@leasehold/voting";

export const SECRET = "a secret of servers";
export const REQUEST = {
  election: "e",
  candidateId: "c",
  leaseDurationMs: 60_000,
  renewIntervalMs: 20_000,
  timeoutMs: 20_000,
};

/** Limits for a wait within this process. The test's own time limit is the real one. */
export const eventually = { timeout: 60_000, interval: 50 };

/** Claims until it is elected. */
export async function elected(store: VotingLeaseStore, request: AcquireRequest = REQUEST): Promise<Lease> {
  return await vi.waitFor(async () => {
    const outcome = await store.acquire(request);
    if (!outcome.acquired) throw new Error("It was not elected.");
    return outcome.lease;
  }, eventually);
}

/** Servers of this process, on ports of loopback and in directories of their own. They end with the test. */
export class Servers {
  readonly addresses: Readonly<Record<string, string>>;
  readonly #folder: string;

  private constructor(addresses: Readonly<Record<string, string>>, folder: string) {
    this.addresses = addresses;
    this.#folder = folder;
  }

  static async of(names: readonly string[], scheme = "http"): Promise<Servers> {
    const folder = await memoryFolder("leasehold-servers-");
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const addresses: Record<string, string> = {};
    for (const name of names) addresses[name] = `${scheme}://127.0.0.1:${await freePort()}`;
    return new Servers(addresses, folder);
  }

  directory(name: string): string {
    return `${this.#folder}/${name}`;
  }

  /** The options of one server, perhaps with others. */
  options(server: string, others: Partial<VotingLeaseStoreOptions> = {}): VotingLeaseStoreOptions {
    return { server, servers: this.addresses, secret: SECRET, stateDirectory: this.directory(server), ...others };
  }

  async open(server: string, others?: Partial<VotingLeaseStoreOptions>): Promise<VotingLeaseStore> {
    const store = await VotingLeaseStore.open(this.options(server, others));
    onTestFinished(() => store.close());
    return store;
  }

  async openAll(others?: Partial<VotingLeaseStoreOptions>): Promise<VotingLeaseStore[]> {
    return await Promise.all(Object.keys(this.addresses).map((name) => this.open(name, others)));
  }
}

/** Leasehold's process warnings during the test. */
export function warnings(): readonly string[] {
  const heard: string[] = [];
  const hear = (warning: Error): void => {
    if (warning.name === "LeaseholdWarning") heard.push(warning.message);
  };
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  return heard;
}
