import { inspect } from "node:util";
import { BlobServiceClient } from "@azure/storage-blob";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { describe, expect } from "vitest";
import { azuriteConnectionString } from "@leasehold/test-kit/backends/azurite";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import type { BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

describe("one attempt is one request, with any retry settings of the user's client", () => {
  const faults: Readonly<Record<string, Fault>> = {
    "a 503": { kind: "answer", status: 503, headers: { "x-ms-error-code": "ServerBusy" } },
    "a 500": { kind: "answer", status: 500, headers: { "x-ms-error-code": "InternalError" } },
    "a socket that is closed": { kind: "cut", side: "before" },
    "a socket that is closed without the reply": { kind: "cut", side: "after" },
    "half a reply": { kind: "cut", side: "mid-reply" },
    "no answer at all": { kind: "black-hole", side: "request" },
  };

  test.for(Object.entries(faults))("%s", async ([, fault], { world }) => {
    const store = new BlobLeaseStore({ container: eagerClient(world), clock: world.clock, createContainer: true });
    const lease = await win(store);

    for (const [name, attempt] of Object.entries({
      head: () => store.read(ELECTION),
      "lease:renew": () => store.renew(lease, LIMITS),
      metadata: () => store.publish(lease, "value", LIMITS),
      "lease:release": () => store.release(lease, LIMITS),
    })) {
      world.proxy.rule = (request) => (request.name === name ? fault : undefined);
      const sent = await world.namesDuring(() => world.settled(world.witness.failureOf(attempt())));
      expect(sent, name).toEqual([name]);
    }
  });

  test("also for an acquisition, which frees the lease that it may have won", async ({ world }) => {
    const store = new BlobLeaseStore({ container: eagerClient(world), clock: world.clock, createContainer: true });
    await store.release(await win(store), LIMITS);
    world.proxy.rule = (request) => (request.name === "lease:acquire" ? { kind: "answer", status: 500 } : undefined);

    const sent = await world.namesDuring(() => world.witness.failureOf(store.acquire(acquiring())));

    expect(sent).toEqual(["lease:acquire", "lease:release"]);
  });

  test("the user's client is not changed", async ({ world }) => {
    const client = eagerClient(world);
    const before = inspect(client, { depth: 8 });
    const store = new BlobLeaseStore({ container: client, clock: world.clock, createContainer: true });
    await win(store);

    expect(inspect(client, { depth: 8 })).toBe(before);
    // The client itself still retries.
    world.faultOnce("head", { kind: "answer", status: 500 });
    const sent = await world.namesDuring(() => client.getBlobClient(ELECTION).getProperties());
    expect(sent).toEqual(["head", "head"]);
  });

  test("a blob client's own retries are off as well", async ({ world }) => {
    const store = new BlobLeaseStore({
      blob: eagerClient(world).getBlobClient(ELECTION),
      clock: world.clock,
      createContainer: true,
    });
    const lease = await win(store);
    world.proxy.rule = (request) => (request.name === "lease:renew" ? { kind: "answer", status: 503 } : undefined);

    await expect(world.namesDuring(() => world.witness.failureOf(store.renew(lease, LIMITS)))).resolves.toEqual(["lease:renew"]);
  });

  test("and so are those of the clients that the store makes", async ({ world }) => {
    const { containerName } = world.container;
    const connectionString = azuriteConnectionString(world.proxy.url);
    const { credential } = eagerClient(world);
    const accountUrl = `${world.proxy.url}/devstoreaccount1/`;
    for (const store of [
      new BlobLeaseStore({ connectionString, containerName, clock: world.clock, createContainer: true }),
      new BlobLeaseStore({
        accountUrl,
        containerName,
        credential: credential as never,
        clock: world.clock,
        createContainer: true,
      }),
    ]) {
      const lease = await win(store);
      world.proxy.rule = (request) => (request.name === "lease:renew" ? { kind: "answer", status: 503 } : undefined);
      await expect(world.namesDuring(() => world.witness.failureOf(store.renew(lease, LIMITS)))).resolves.toEqual([
        "lease:renew",
      ]);
      await store.release(lease, LIMITS);
    }
  });

  test("the user's own options of the client are kept", async ({ world }) => {
    const service = BlobServiceClient.fromConnectionString(azuriteConnectionString(world.proxy.url), {
      userAgentOptions: { userAgentPrefix: "acme-billing/7" },
    });
    const store = new BlobLeaseStore({
      container: service.getContainerClient(world.container.containerName),
      clock: world.clock,
    });

    const [request] = await world.requestsDuring(() => store.read(ELECTION));

    expect(request?.headers["user-agent"]).toMatch(/^acme-billing\/7 /);
  });
});

/** Returns a client with the SDK's defaults: it tries four times, at once and after 4 and 8 s. */
function eagerClient(world: BlobWorld): ReturnType<BlobServiceClient["getContainerClient"]> {
  const service = BlobServiceClient.fromConnectionString(azuriteConnectionString(world.proxy.url));
  return service.getContainerClient(world.container.containerName);
}
