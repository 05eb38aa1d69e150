import { inspect } from "node:util";
import { BlobServiceClient } from "@azure/storage-blob";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { describe, expect } from "vitest";
import { azuriteConnectionString } from "@leasehold/test-kit/backends/azurite";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { LAPSE_MS, type BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

describe("how many requests a step takes", () => {
  test("a win on a fresh account, a renewal, a publication and a release", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    const seen = world.requests.map(({ name }) => name);

    expect(seen).toEqual(["head", "put-blob", "create-container", "put-blob", "lease:acquire", "metadata"]);
    await expect(world.namesDuring(() => store.renew(lease, LIMITS))).resolves.toEqual(["lease:renew"]);
    await expect(world.namesDuring(() => store.publish(lease, "value", LIMITS))).resolves.toEqual(["metadata"]);
    await expect(world.namesDuring(() => store.release(lease, LIMITS))).resolves.toEqual(["lease:release"]);
  });

  test("a missing container is created only with createContainer", async ({ world }) => {
    const store = new BlobLeaseStore({ container: world.proxied, clock: world.clock });

    const missing = { code: "STORE_MISSING", message: expect.stringContaining("Create the container first") };
    await expect(store.check({ election: ELECTION })).rejects.toMatchObject(missing);
    await expect(store.acquire(acquiring())).rejects.toMatchObject(missing);

    expect(world.requests.map(({ name }) => name)).toEqual(["head", "metadata", "put-blob"]);
  });

  test("a win after a read that showed no blob: three, and without a read four", async ({ world }) => {
    await world.container.create();
    const [looked, other] = [world.store(), world.store()];

    await expect(looked.read("new")).resolves.toBeUndefined();
    const known = await world.namesDuring(() => win(looked, { election: "new" }));
    const unknown = await world.namesDuring(() => win(other, { election: "newer" }));

    expect(known).toEqual(["put-blob", "lease:acquire", "metadata"]);
    expect(unknown).toEqual(["head", ...known]);
  });

  test("an elector's first term: its read, and three", async ({ world }) => {
    await world.container.create();
    const { elector } = world.candidate("a");

    const sent = await world.namesDuring(() => elector.tryRun(() => undefined));

    expect(sent).toEqual(["head", "put-blob", "lease:acquire", "metadata", "lease:release"]);
  });

  test("an elector's next term right after its own: its read, and two", async ({ world }) => {
    const { elector } = world.candidate("a");
    await elector.tryRun(() => undefined);

    const sent = await world.namesDuring(() => elector.tryRun(() => undefined));

    expect(sent).toEqual(["head", "lease:acquire", "metadata", "lease:release"]);
  });

  test("a win after a read that showed the lease vacant, or expired: two", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    await a.release(await win(a), LIMITS);

    await b.read(ELECTION);
    await expect(world.namesDuring(() => win(b))).resolves.toEqual(["lease:acquire", "metadata"]);

    await world.forward(LAPSE_MS);
    await a.read(ELECTION);
    await expect(world.namesDuring(() => win(a))).resolves.toEqual(["lease:acquire", "metadata"]);
  });

  test("a lost race: one, and then only reads", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    await a.release(await win(a), LIMITS);
    await b.read(ELECTION);
    await win(a);

    await expect(world.namesDuring(() => b.acquire(acquiring({ candidateId: "b" })))).resolves.toEqual(["lease:acquire"]);
    await expect(world.namesDuring(() => b.read(ELECTION))).resolves.toEqual(["head"]);
  });

  test("a read while the lease is held, free or expired: one HEAD, and no write", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    const lease = await win(a);
    for (let look = 0; look < 5; look += 1) await expect(world.namesDuring(() => b.read(ELECTION))).resolves.toEqual(["head"]);
    await a.release(lease, LIMITS);
    await expect(world.namesDuring(() => b.read(ELECTION))).resolves.toEqual(["head"]);
    await win(a);
    await world.forward(LAPSE_MS);
    await expect(world.namesDuring(() => b.read(ELECTION))).resolves.toEqual(["head"]);
  });

  test("a standby that waits through a minute of another's term sends one HEAD for each poll, and proves once that it may write", async ({
    world,
  }) => {
    const leader = world.candidate("a");
    const leadership = await world.settled(leader.elector.campaign());
    const standby = world.candidate("b");
    const stopping = new AbortController();

    const sent = await world.requestsDuring(async () => {
      const running = standby.elector.run(() => undefined, { signal: stopping.signal });
      await world.pass(60_000);
      stopping.abort();
      await running;
    });

    const looks = sent.filter(({ name }) => name !== "lease:renew");
    // The leader's own reads, by which it makes its grid sharp, once in its term.
    const leadersOwn = world.witness.published.filter(({ operation }) => operation === "publish").length;
    expect(looks.filter(({ name }) => name !== "head")).toHaveLength(leadersOwn + 1);
    expect(world.witness.published.filter(({ operation }) => operation === "probe")).toHaveLength(1);
    expect(looks.length).toBeLessThanOrEqual(60 + 8);
    expect(leader.elector.isLeader).toBe(true);
    await world.settled(leadership.release());
  });

  test("a break: a read, the note (read, then written) and the break", async ({ world }) => {
    const [a, admin] = [world.store(), world.store()];
    await win(a);

    const sent = await world.namesDuring(() => admin.break(ELECTION, { reason: "test" }));

    expect(sent).toEqual(["head", "head", "put-blob", "lease:break"]);
  });

  test("a break that finds no leader, or a newer term: the read alone", async ({ world }) => {
    const [a, admin] = [world.store(), world.store()];
    await expect(world.namesDuring(() => admin.break(ELECTION, { reason: "test" }))).resolves.toEqual(["head"]);
    const lease = await win(a);
    await a.release(lease, LIMITS);
    await expect(world.namesDuring(() => admin.break(ELECTION, { reason: "test" }))).resolves.toEqual(["head"]);
    await win(a);
    await expect(world.namesDuring(() => admin.break(ELECTION, { reason: "test", ifTerm: 1 }))).resolves.toEqual(["head"]);
  });
});

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
