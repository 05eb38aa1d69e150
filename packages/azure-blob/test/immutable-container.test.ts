import { Elector } from "@leasehold/core";
import { describe, expect, it } from "vitest";
import { acquiring, ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { refusal, VirtualAzure, type Connection } from "./virtual-azure.ts";

/** Returns a process with a service that creates and leases blobs, and that answers every change of one with this code. */
function refusing(azure: VirtualAzure, status: number, code: string): Connection {
  const connection = azure.connect();
  connection.onRequest = ({ name }, send) => (name === "metadata" ? refusal(status, code) : send());
  return connection;
}

describe("a blob that the service lets no client change", () => {
  it.each([
    [409, "BlobImmutableDueToPolicy", /BlobImmutableDueToPolicy .*An immutability policy or a legal hold/],
    [409, "Unheard", /Unheard .*look this code up/],
    [412, "Unheard", /Unheard .*look this code up/],
  ])("ends a campaign after one lease (%d %s)", async (status, code, message) => {
    const azure = new VirtualAzure();
    const { store } = refusing(azure, status, code);
    const elector = new Elector({ store, election: ELECTION, leaseDurationMs: LEASE_MS, clock: azure.clock, logger: false });

    const run = azure.run(elector.run(() => expect.fail("It must not lead.")));

    await expect(run).rejects.toMatchObject({ code: "STORE_REJECTED", message });
    expect(azure.clock.monotonicMs()).toBeLessThan(2 * LEASE_MS);
  });

  it("is given up after one attempt: the lease is released, and the term is not written again", async () => {
    const azure = new VirtualAzure();
    const { store, sent } = refusing(azure, 412, "Unheard");

    await expect(store.acquire(acquiring())).rejects.toMatchObject({ code: "STORE_REJECTED", mayHaveBeenApplied: false });

    expect(sent.filter((name) => name === "metadata")).toHaveLength(1);
    expect(sent.at(-1)).toBe("lease:release");
  });

  it("fails the proof of the right to write", async () => {
    const azure = new VirtualAzure();
    const { store } = refusing(azure, 412, "Unheard");
    await expect(store.check({ election: ELECTION })).rejects.toMatchObject({ code: "STORE_REJECTED" });
  });
});
