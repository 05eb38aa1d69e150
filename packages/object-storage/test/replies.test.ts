import type { StoreErrorCode } from "@leasehold/core";
import { describe, expect, onTestFinished } from "vitest";
import { isWriteOf, lead, LIMITS, PROTOCOLS, refusal, test } from "./object-world.ts";

const LEASE = "/leasehold/e";

describe.each(PROTOCOLS)("on %s", (protocol) => {
  test.for<[status: number, code: string, means: StoreErrorCode]>([
    [300, "MultipleChoices", "STORE_REJECTED"],
    [400, "ExpiredToken", "STORE_UNAUTHENTICATED"],
    [401, "AuthenticationRequired", "STORE_UNAUTHENTICATED"],
    [403, "AccessDenied", "STORE_DENIED"],
    [403, "RequestTimeTooSkewed", "STORE_UNAUTHENTICATED"],
    [404, "NoSuchBucket", "STORE_MISSING"],
    [429, "SlowDown", "STORE_THROTTLED"],
    [500, "InternalError", "STORE_UNAVAILABLE"],
    [501, "NotImplemented", "STORE_REJECTED"],
    [503, "SlowDown", "STORE_THROTTLED"],
  ])("%i %s fails a write at once as %s", async ([status, code, means], { open }) => {
    const world = await open(protocol);
    const store = world.store();
    const lease = await lead(store);
    world.answer((request) => (isWriteOf(request, LEASE) ? refusal(status, code, { "retry-after": "2" }) : undefined));
    const before = world.requests.length;

    const mayHaveBeenApplied = status < 400 || status >= 500;
    const failed = store.renew(lease, LIMITS);
    await expect(failed).rejects.toMatchObject({ code: means, mayHaveBeenApplied, retryAfterMs: 2_000 });
    await expect(failed).rejects.toThrow(`${code} (HTTP ${status})`);

    // The engine reads after an unknown outcome. The SDK sends nothing again. Google's gets a new token after 401.
    const sent = world.requests.slice(before).filter((request) => isWriteOf(request, LEASE));
    if (status !== 401) expect(sent).toHaveLength(1);
  });

  test("a write whose connection ends without a reply is sent once, and may have been carried out", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const lease = await lead(store);
    world.answer((request) => {
      if (isWriteOf(request, LEASE)) throw new Error("cut off");
      return undefined;
    });
    const before = world.requests.length;
    await expect(store.renew(lease, LIMITS)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: true });
    expect(world.requests.slice(before).filter((request) => isWriteOf(request, LEASE))).toHaveLength(1);
  });

  test("no request that only reads may have been carried out as a write", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    await store.check({ election: "e" });
    world.answer((request) => (request.method === "GET" ? refusal(500, "InternalError") : undefined));
    const failure = { code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false };
    await expect(store.read("e")).rejects.toMatchObject(failure);
    await expect(store.list()[Symbol.asyncIterator]().next()).rejects.toMatchObject(failure);
    await expect(store.inspect({ election: "e" })).rejects.toMatchObject(failure);
  });

  test("a write that met another one (409) is sent again, and succeeds", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const lease = await lead(store);
    let conflicts = 3;
    world.answer((request) => {
      if (!isWriteOf(request, LEASE) || conflicts === 0) return undefined;
      conflicts -= 1;
      return refusal(409, "ConditionalRequestConflict");
    });

    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    expect(conflicts).toBe(0);
  });

  test("a lease that was deleted is lost, and a refused condition after a lost reply is resolved by reading", async ({
    open,
  }) => {
    const world = await open(protocol);
    const store = world.store();
    const lease = await lead(store);
    const { bucket } = world.server;
    let cut = true;
    world.answer((request) => {
      if (!cut || !isWriteOf(request, LEASE)) return undefined;
      cut = false;
      // The service carries it out, and a proxy answers in its place.
      const match = request.headers["if-match"];
      const is = match ?? request.headers["x-goog-if-generation-match"] ?? "";
      bucket.put("leasehold/e", request.body, {}, { kind: match === undefined ? "generation" : "etag", is });
      return { status: 502, headers: {}, body: new Uint8Array() };
    });
    const renewed = await store.renew(lease, LIMITS).catch(async () => await store.renew(lease, LIMITS));
    expect(renewed).toMatchObject({ held: true });

    bucket.objects.delete("leasehold/e");
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false });
  });

  test.for<[what: string, headers: Record<string, string>, says: string]>([
    ["a success without the service's own header", { etag: '"a"' }, "the answer is not the service's"],
    ["an answer of a cache", { "x-amz-request-id": "R", "x-guploader-uploadid": "R", age: "3" }, "the header Age"],
  ])("%s is no success", async ([, headers, says], { open }) => {
    const world = await open(protocol);
    const store = world.store();
    const lease = await lead(store);
    world.answer(() => ({ status: 200, headers, body: new Uint8Array() }));
    await expect(store.renew(lease, LIMITS)).rejects.toThrow(says);
  });

  test("a 404 of another server is not taken for a missing bucket", async ({ open }) => {
    const world = await open(protocol);
    world.answer(() => ({ status: 404, headers: {}, body: new Uint8Array() }));
    const reading = world.store().read("e");
    await expect(reading).rejects.toThrow("the answer does not come from the service. Is the endpoint right");
    await expect(reading).rejects.not.toThrow("Create the bucket");
  });

  test("an answer that does not name a version is no success", async ({ open }) => {
    const world = await open(protocol);
    const store = world.store();
    const lease = await lead(store);
    const headers = { "x-amz-request-id": "R", "x-guploader-uploadid": "R" };
    world.answer(() => ({ status: 200, headers, body: new Uint8Array() }));
    const says = protocol === "s3" ? "it has no ETag" : "it has no x-goog-generation";
    await expect(store.renew(lease, LIMITS)).rejects.toThrow(says);
    await expect(world.store().read("e")).rejects.toThrow(says);
  });

  test("a lifecycle rule that deletes leases ends no leadership, and refuses the next acquisition by its name", async ({
    open,
  }) => {
    const warnings = heardWarnings();
    const world = await open(protocol);
    const store = world.store();
    const lease = await lead(store);
    const expiry = 'expiry-date="Fri, 23 Dec 2026 00:00:00 GMT", rule-id="old"';
    world.server.bucket.signs = { "x-amz-expiration": expiry, "x-goog-expiration": expiry };
    for (let renewals = 0; renewals < 2; renewals += 1) {
      await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
    }
    await expect(store.publish(lease, "v", LIMITS)).resolves.toMatchObject({ held: true });
    await store.break("e", { reason: "maintenance" });
    await expect(store.release(lease, LIMITS)).resolves.toBe("released");

    const refused = lead(store).catch((error: unknown) => error);
    const details = { code: "STORE_REJECTED", store: protocol, operation: "put", election: "e", mayHaveBeenApplied: false };
    await expect(refused).resolves.toMatchObject(details);
    await expect(refused).resolves.toHaveProperty("message", expect.stringContaining('rule-id="old"'));
    await expect.poll(() => warnings).toEqual([expect.stringContaining('rule-id="old"')]);
    world.server.bucket.signs = {};
    await store.read("e");
    await expect(lead(store)).resolves.toMatchObject({ election: "e" });
  });

  test("a lifecycle rule may delete occurrences", async ({ open }) => {
    const world = await open(protocol);
    world.server.bucket.signs = { "x-amz-expiration": "soon", "x-goog-expiration": "soon" };
    const ticks = world.store().occurrences("e", { retentionMs: 60_000 });
    for (let tick = 0; tick < 2; tick += 1) {
      await expect(ticks.acquire({ ...ASKING, election: `tick-${tick}` })).resolves.toMatchObject({ acquired: true });
    }
  });
});

test("on s3 a replica holds no lease", async ({ open }) => {
  const world = await open("s3");
  const store = world.store();
  const lease = await lead(store);
  world.server.bucket.signs = { "x-amz-replication-status": "REPLICA" };
  await store.renew(lease, LIMITS);
  await expect(store.renew(lease, LIMITS)).rejects.toThrow("replicas of another bucket");
});

test("on s3 a bucket that keeps versions is warned of once", async ({ open }) => {
  const world = await open("s3");
  const warnings = heardWarnings();
  world.server.bucket.signs = { "x-amz-version-id": "3HL4kqtJlcpXroDTDmJ" };
  const store = world.store();
  await store.renew(await lead(store), LIMITS);
  await expect.poll(() => warnings).toEqual([expect.stringContaining("keeps every version of an object")]);
});

/** Returns the list of the process warnings from now on. */
function heardWarnings(): string[] {
  const warnings: string[] = [];
  const note = ({ message }: Error): void => void warnings.push(message);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  return warnings;
}

const ASKING = { candidateId: "a", leaseDurationMs: 15_000, renewIntervalMs: 5_000, ...LIMITS };
