import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { ContainerClient } from "@azure/storage-blob";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import { isLeaseholdError, StoreError, type StoreErrorCode } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import type { BlobWorld } from "./blob-world.ts";
import { test } from "./world-test.ts";

/** Returns an answer of the service, in the form of its documentation. The answer to a HEAD has no body. */
function answer(status: number, code: string, headers: Readonly<Record<string, string>> = {}): Fault {
  const body = `<?xml version="1.0" encoding="utf-8"?>\n<Error><Code>${code}</Code><Message>The words of ${code}.\nRequestId:1\nTime:2</Message></Error>`;
  return {
    kind: "answer",
    status,
    body,
    headers: { "Content-Type": "application/xml", "x-ms-error-code": code, "x-ms-request-id": `request-of-${code}`, ...headers },
  };
}

interface Situation {
  readonly store: BlobLeaseStore;
  readonly lease: Lease;
}

/** Returns a store that holds a lease. */
async function holding(world: BlobWorld): Promise<Situation> {
  const store = world.store();
  return { store, lease: await win(store) };
}

describe("a holder's request", () => {
  test("finds a deleted blob missing, and so its container", async ({ world }) => {
    const { store, lease } = await holding(world);
    await world.blob.delete({ conditions: { leaseId: leaseIdIn(world) } });
    await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: false, reason: "missing" });
    await expect(store.read(ELECTION)).resolves.toBeUndefined();

    const other = await holding(world);
    await world.container.delete();
    await expect(other.store.renew(other.lease, LIMITS)).resolves.toMatchObject({
      held: false,
      reason: "missing",
      explanation: `the blob '${ELECTION}' in container '${world.container.containerName}' is gone`,
    });
    await expect(other.store.read(ELECTION)).resolves.toBeUndefined();
  });
});

interface Passing {
  readonly fault: Fault;
  readonly code: StoreErrorCode;
  /** True if a write may have been carried out. */
  readonly applied: boolean;
  readonly retryAfterMs?: number;
  readonly says?: RegExp;
}

/** Failures on the way, and answers of each form. `failures.test.ts` has the table of the service's codes. */
const PASSING: Readonly<Record<string, Passing>> = {
  "403 AuthorizationPermissionMismatch": {
    fault: answer(403, "AuthorizationPermissionMismatch"),
    code: "STORE_DENIED",
    applied: false,
    says: /AuthorizationPermissionMismatch \(HTTP 403\).*Storage Blob Data Contributor/s,
  },
  "503 ServerBusy with Retry-After": {
    fault: answer(503, "ServerBusy", { "Retry-After": "7" }),
    code: "STORE_THROTTLED",
    applied: true,
    retryAfterMs: 7_000,
  },
  "503 ServerBusy with a date, which this machine's clock should not judge": {
    fault: answer(503, "ServerBusy", { "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT" }),
    code: "STORE_THROTTLED",
    applied: true,
  },
  "502 of a gateway": {
    fault: { kind: "answer", status: 502, body: "<html>Bad gateway</html>" },
    code: "STORE_UNAVAILABLE",
    applied: true,
  },
  "a socket closed before the request was through": {
    fault: { kind: "cut", side: "before" },
    code: "STORE_UNAVAILABLE",
    applied: true,
  },
  "a socket closed before the reply": { fault: { kind: "cut", side: "after" }, code: "STORE_UNAVAILABLE", applied: true },
  "a socket closed in the middle of the reply": {
    fault: { kind: "cut", side: "mid-reply" },
    code: "STORE_UNAVAILABLE",
    applied: true,
  },
  "no answer to a request that arrived": {
    fault: { kind: "black-hole", side: "reply" },
    code: "STORE_TIMEOUT",
    applied: true,
    says: /did not answer '.+' of 'nightly-billing' within 5000 ms/,
  },
  "no answer to a request that never arrived": {
    fault: { kind: "black-hole", side: "request" },
    code: "STORE_TIMEOUT",
    applied: true,
  },
};

describe("a failure without information about the leader is an error with its details", () => {
  test.for(Object.entries(PASSING))("%s", async ([, { fault, code, applied, retryAfterMs, says }], { world }) => {
    const { store, lease } = await holding(world);
    const breakIt = (): Promise<unknown> => world.store().break(ELECTION, { reason: "test" });
    // A break that may have been carried out is checked by a read.
    const breaking = [
      ["write-note", "put-blob", true, breakIt],
      ["break", "lease:break", true, breakIt],
    ] as const;
    const attempts: ReadonlyArray<readonly [operation: string, wire: string, writes: boolean, attempt: () => Promise<unknown>]> =
      [
        ["head", "head", false, () => store.read(ELECTION)],
        ["renew", "lease:renew", true, () => store.renew(lease, LIMITS)],
        ["publish", "metadata", true, () => store.publish(lease, "value", LIMITS)],
        ...(applied ? [] : breaking),
        ["release", "lease:release", true, () => store.release(lease, LIMITS)],
      ];
    for (const [operation, wire, writes, attempt] of attempts) {
      world.proxy.rule = undefined;
      await store.renew(lease, LIMITS);
      world.proxy.rule = ({ name }) => (name === wire ? fault : undefined);
      const error = await world.settled(world.witness.failureOf(attempt()));

      expect(error, operation).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({
        store: "azure-blob",
        operation,
        election: ELECTION,
        code,
        mayHaveBeenApplied: writes && applied,
      });
      expect(error.retryAfterMs).toBe(retryAfterMs);
      if (says) expect(error.message).toMatch(says);
      expect(isLeaseholdError(error, code)).toBe(true);
      expect(error.message.split("\n")).toHaveLength(1);
    }
  });

  test("a service that refuses the connection has not carried anything out", async ({ world }) => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    const store = new BlobLeaseStore({ container: containerClient(`http://127.0.0.1:${port}`), clock: world.clock });

    const refused = await world.witness.failureOf(store.read(ELECTION));
    expect(refused).toMatchObject({ code: "STORE_UNAVAILABLE", operation: "head", mayHaveBeenApplied: false });
    expect(refused.message).toContain("ECONNREFUSED");

    const note = await world.witness.failureOf(store.acquire(acquiring()));
    expect(note).toMatchObject({ code: "STORE_UNAVAILABLE", mayHaveBeenApplied: false });
  });

  test("a caller's abort is thrown as its own reason, and the request is dropped", async ({ world }) => {
    const store = world.store();
    await win(store);
    const late = world.holdOnce("head");
    const stopping = new AbortController();
    const read = store.read(ELECTION, { signal: stopping.signal });
    await late.arrived;
    const reason = new Error("the caller's own");
    stopping.abort(reason);

    await expect(read).rejects.toBe(reason);
    await expect(store.read(ELECTION, { signal: stopping.signal })).rejects.toBe(reason);
  });

  test("a wrong account key is a denial", async ({ world }) => {
    await world.container.create();
    const { url } = world.proxied;
    const store = new BlobLeaseStore({ container: new ContainerClient(url), clock: world.clock });

    // This is Azurite's AuthorizationFailure. The service's own AuthenticationFailed is above.
    await expect(world.witness.failureOf(store.read(ELECTION))).resolves.toMatchObject({ code: "STORE_DENIED" });
  });
});

describe("the diagnostics channel", () => {
  test("publishes every request once, with its operation and outcome", async ({ world }) => {
    const { store, lease } = await holding(world);
    await store.renew(lease, LIMITS);
    world.faultOnce("lease:renew", answer(503, "ServerBusy"));
    await world.witness.failureOf(store.renew(lease, LIMITS));
    await world.store().acquire(acquiring({ candidateId: "b" }));
    await store.release(lease, LIMITS);

    const told = world.witness.published.map(({ operation, outcome }) => `${operation}: ${outcome}`);
    expect(told).toEqual([
      "head: STORE_MISSING",
      "create-blob: STORE_MISSING",
      "create-container: ok",
      "create-blob: ok",
      "acquire: ok",
      "write-term: ok",
      "renew: ok",
      "renew: STORE_THROTTLED",
      "head: ok",
      "acquire: STORE_CONFLICT",
      "release: ok",
    ]);
    expect(told).toHaveLength(world.requests.length);
    for (const message of world.witness.published) {
      expect(message).toMatchObject({ store: "azure-blob", election: ELECTION, durationMs: expect.any(Number) });
    }
  });
});

describe("an answer that does not come from the service, such as that of a captive portal", () => {
  const stranger: Fault = { kind: "answer", status: 200, headers: { "Content-Type": "text/html" } };

  test("does not count as a renewal", async ({ world }) => {
    const { store, lease } = await holding(world);
    world.proxy.rule = () => stranger;

    await expect(world.witness.failureOf(store.renew(lease, LIMITS))).resolves.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  test("does not count as a loss or a missing record if its status is 404", async ({ world }) => {
    const { store, lease } = await holding(world);
    world.proxy.rule = () => ({ ...stranger, status: 404 });

    await expect(world.witness.failureOf(store.renew(lease, LIMITS))).resolves.toMatchObject({ code: "STORE_MISSING" });
    await expect(world.witness.failureOf(store.read(ELECTION))).resolves.toMatchObject({ code: "STORE_MISSING" });
  });

  test.for([400, 403, 409, 429])("with status %d does not prove that a write was not carried out", async (status, { world }) => {
    const { store, lease } = await holding(world);
    world.proxy.rule = () => ({ ...stranger, status });

    await expect(world.witness.failureOf(store.renew(lease, LIMITS))).resolves.toMatchObject({ mayHaveBeenApplied: true });
  });
});

describe("nothing secret is shown", () => {
  // Each test in every file checks its errors, events and diagnostics for secrets afterwards: see Witness.

  test("by an error whose body repeats the request", async ({ world }) => {
    const { store, lease } = await holding(world);
    world.proxy.rule = ({ name, path, query, headers }) =>
      name === "lease:renew"
        ? {
            kind: "answer",
            status: 502,
            headers: { "Content-Type": "text/html" },
            body: `<html>cannot reach ${path}?${query.toString()} with ${JSON.stringify(headers)}</html>`,
          }
        : undefined;

    await expect(world.witness.failureOf(store.renew(lease, LIMITS))).resolves.toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  test("of a shared access signature", async ({ world }) => {
    const sas = "sv=2024-11-04&sr=c&sp=racwdl&se=2099-01-01T00%3A00%3A00Z&sig=c2VjcmV0LXNlY3JldC1zZWNyZXQ%3D";
    world.witness.keep("c2VjcmV0LXNlY3JldC1zZWNyZXQ=");
    const { url } = world.proxied;
    const store = new BlobLeaseStore({ container: new ContainerClient(`${url}?${sas}`), clock: world.clock });
    const echo = `cannot reach ${url}?${sas}`;

    for (const fault of [
      undefined,
      { kind: "cut", side: "before" },
      { kind: "answer", status: 502, headers: { "Content-Type": "text/plain" }, body: echo },
      { kind: "answer", status: 502, headers: { "Content-Type": "application/xml" }, body: echo },
      { kind: "answer", status: 502, headers: {}, body: echo },
      answer(403, "AuthenticationFailed"),
    ] satisfies Array<Fault | undefined>) {
      // The first read finds nothing, so that a request follows whose reply has a body.
      world.proxy.rule = ({ name }) => (name === "head" ? answer(404, "BlobNotFound") : fault);
      await world.witness.failureOf(store.acquire(acquiring()));
      world.proxy.rule = () => fault;
      await world.witness.failureOf(store.read(ELECTION));
    }
    const [request] = world.requests;
    expect(request?.query.get("sig")).toBe("c2VjcmV0LXNlY3JldC1zZWNyZXQ=");
  });

  test("of an account key", async ({ world }) => {
    world.witness.keep("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==");
    const store = world.store();
    world.witness.hear(store);
    await win(store);
    world.witness.hear(store);
    world.proxy.rule = () => answer(403, "AuthenticationFailed");
    await world.witness.failureOf(store.read(ELECTION));
  });

  test("by a lease, or by the description of its loss", async ({ world }) => {
    const { store, lease } = await holding(world);
    world.witness.hear(lease);
    await world.store().break(ELECTION, { reason: "test", immediate: true });
    const outcome = await store.renew(lease, LIMITS);
    expect(outcome).toMatchObject({ held: false });
    world.witness.hear(outcome);
  });
});

function leaseIdIn(world: BlobWorld): string {
  const acquired = world.requests.findLast(({ name }) => name === "lease:acquire");
  return String(acquired?.headers["x-ms-proposed-lease-id"]);
}
