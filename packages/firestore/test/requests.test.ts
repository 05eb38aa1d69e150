import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { Firestore } from "@google-cloud/firestore";
import { ConfigurationError } from "@leasehold/core";
import { systemClock, Journal, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { describe, expect } from "vitest";
import { acquiring, ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { recognizedOptions } from "@grpc/grpc-js/build/src/channel-options.js";
import { KEEPALIVE } from "../src/options.ts";
import { FENCE_PATH, LEASE_PATH } from "./firestore-world.ts";
import { test } from "./world-test.ts";

const HTTP2_CANCEL = 8;

/** Returns the warnings of an elector that begins to use a store. */
function warningsOf(store: FirestoreLeaseStore): string[] {
  const warnings: string[] = [];
  const ignore = (): void => undefined;
  store.warnings?.join(Journal.to({ debug: ignore, info: ignore, warn: (message) => warnings.push(message), error: ignore }));
  return warnings;
}

/** The codes after which the SDK repeats a request of its own. */
const RETRIED_BY_THE_SDK = {
  DEADLINE_EXCEEDED: 4,
  RESOURCE_EXHAUSTED: 8,
  ABORTED: 10,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

describe("how many requests a step takes", () => {
  test("a read, a win, a renewal, a publication and a release: one each, and no transaction", async ({ world }) => {
    const store = world.store();
    await expect(world.methodsDuring(() => store.read(ELECTION))).resolves.toEqual(["BatchGetDocuments"]);
    let lease!: Lease;
    // The store also remembers that there was no document.
    await expect(world.methodsDuring(async () => (lease = await win(store)))).resolves.toEqual(["Commit"]);
    await expect(world.methodsDuring(() => store.renew(lease, LIMITS))).resolves.toEqual(["Commit"]);
    await expect(world.methodsDuring(() => store.publish(lease, "value", LIMITS))).resolves.toEqual(["Commit"]);
    await expect(world.methodsDuring(() => store.release(lease, LIMITS))).resolves.toEqual(["Commit"]);
    await expect(world.methodsDuring(() => win(store))).resolves.toEqual(["Commit"]);
    expect(world.commits.map(({ transaction }) => transaction.length)).toEqual([0, 0, 0, 0, 0]);
  });

  test("a lost race: one write, and a read", async ({ world }) => {
    const [a, b] = [world.store(), world.store()];
    await a.release(await win(a), LIMITS);
    await b.read(ELECTION);
    await win(a);

    const methods = await world.methodsDuring(async () => {
      for (let tries = 0; tries < 2; tries += 1) {
        await expect(b.acquire(acquiring({ candidateId: "b" }))).resolves.toMatchObject({ acquired: false });
      }
    });
    expect(methods).toEqual(["Commit", "BatchGetDocuments"]);
  });

  test("a break and a transfer: a read and a write", async ({ world }) => {
    const [a, admin] = [world.store(), world.store()];
    await win(a);
    await expect(world.methodsDuring(() => admin.break(ELECTION, { reason: "test" }))).resolves.toEqual([
      "BatchGetDocuments",
      "Commit",
    ]);
  });

  test("only an acquisition, a release and a break write the fence, in the same commit", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await store.publish(lease, "value", LIMITS);
    await world.store().break(ELECTION, { reason: "test" });
    await store.release(lease, LIMITS);

    const documents = world.commits.map(({ writes }) => writes.map(({ update }) => update.name.replace(/^.*documents\//u, "")));
    expect(documents).toEqual([
      [LEASE_PATH, FENCE_PATH],
      [LEASE_PATH],
      [LEASE_PATH],
      [LEASE_PATH, FENCE_PATH],
      // The first commit finds the broken record instead of the one that it knew. The break has already closed the fence.
      [LEASE_PATH, FENCE_PATH],
      [LEASE_PATH],
    ]);
  });

  test("every write has a precondition on the lease document", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await store.release(lease, LIMITS);

    const conditions = world.commits.map(({ writes }) => writes[0]?.currentDocument);
    expect(conditions).toMatchObject([
      { exists: false },
      { updateTime: { seconds: expect.any(String) } },
      { updateTime: { seconds: expect.any(String) } },
    ]);
  });
});

describe("one attempt is one request, with any retry settings of the SDK", () => {
  test.for(Object.entries(RETRIED_BY_THE_SDK))("%s", async ([name, code], { world }) => {
    const store = world.store({ clock: systemClock });
    const lease = await win(store);
    const fault = { code, message: "as asked" };
    // The engine itself repeats a write that conflicted with a transaction, at the earliest 10 ms later, for half of its time.
    const most = name === "ABORTED" ? 5 : 1;
    const limits = { timeoutMs: 100 };

    for (const [method, attempt] of Object.entries({
      BatchGetDocuments: () => store.read(ELECTION),
      Commit: () => store.renew(lease, limits),
    })) {
      world.fault(method, fault);
      const seen = await world.methodsDuring(() => world.witness.failureOf(attempt()));
      expect(new Set(seen)).toEqual(new Set([method]));
      expect(seen.length).toBeLessThanOrEqual(method === "Commit" ? most : 1);
      world.rule = undefined;
      // The renewal shows the outcome again.
      await store.renew(lease, LIMITS);
    }
    world.fault("Commit", fault);
    const releases = await world.methodsDuring(() => world.witness.failureOf(store.release(lease, limits)));
    expect(new Set(releases)).toEqual(new Set(["Commit"]));
    expect(releases.length).toBeLessThanOrEqual(most);
  });

  test.for(Object.entries(RETRIED_BY_THE_SDK))("%s, as the user's own settings have it", async ([, code], { world }) => {
    // This setting makes the SDK's generated client repeat failed reads.
    const store = world.store({ firestore: world.client({ gaxServerStreamingRetries: true }) });
    world.fault("BatchGetDocuments", { code, message: "as asked" });

    await expect(world.methodsDuring(() => world.witness.failureOf(store.read(ELECTION)))).resolves.toEqual([
      "BatchGetDocuments",
    ]);
  });

  test("the user's Firestore is not changed, and still repeats its own requests", async ({ world }) => {
    const firestore = world.client();
    await firestore.doc("own/a").set({ count: 1 });
    const shown = (): string => inspect(firestore, { depth: 1 });
    const before = shown();
    const store = world.store({ firestore });
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    expect(shown()).toBe(before);

    world.faultOnce("Commit", { code: RETRIED_BY_THE_SDK.UNAVAILABLE, message: "as asked" });
    const writing = async (): Promise<unknown> => firestore.doc("own/a").set({ count: 2 });
    await expect(world.methodsDuring(writing)).resolves.toEqual(["Commit", "Commit"]);
    world.faultOnce("BatchGetDocuments", { code: RETRIED_BY_THE_SDK.UNAVAILABLE, message: "as asked" });
    const reading = async (): Promise<unknown> => firestore.doc("own/a").get();
    await expect(world.methodsDuring(reading)).resolves.toEqual(["BatchGetDocuments", "BatchGetDocuments"]);
    const adding = async (): Promise<unknown> =>
      firestore.runTransaction(async (transaction) => {
        transaction.update(firestore.doc("own/a"), { count: (await transaction.get(firestore.doc("own/a"))).get("count") });
      });
    await adding();
  });
});

describe("a request that is not answered", () => {
  test.for(["BatchGetDocuments", "Commit"] as const)("%s is given up in time, and cancelled on the wire", async (method) => {
    await using service = await silentService();
    const clock = new VirtualClock();
    const firestore = new Firestore({ projectId: "demo-x", host: service.host, ssl: false });
    const store = new FirestoreLeaseStore({ firestore, clock });
    const attempt = method === "Commit" ? store.acquire(acquiring({ timeoutMs: 700 })) : store.read(ELECTION, { timeoutMs: 700 });
    const outcome = attempt.then(
      () => undefined,
      (error: unknown) => error,
    );
    let stream = await service.next("BatchGetDocuments");
    if (method === "Commit") {
      service.answerMissing(stream);
      stream = await service.next("Commit");
    }
    const closed = once(stream, "close");

    await clock.advance(699);
    expect(stream.closed).toBe(false);
    // An acquisition whose reply is lost reads its outcome once.
    await clock.advance(1);
    await closed;
    expect(stream.rstCode).toBe(HTTP2_CANCEL);
    await clock.advance(700);

    await expect(outcome).resolves.toMatchObject({
      code: "STORE_TIMEOUT",
      mayHaveBeenApplied: method === "Commit",
      message: expect.stringMatching(/did not answer '(get|put)' of 'nightly-billing' within 700 ms/),
    });
    // Nothing is sent again, even after a long time.
    await clock.advance(3_600_000);
    expect(service.seen).toEqual(
      method === "Commit" ? ["BatchGetDocuments", "Commit", "BatchGetDocuments"] : ["BatchGetDocuments"],
    );
    // Nothing waits for the request any more.
    await firestore.terminate();
  });

  test("is cancelled when the caller's signal aborts, with the signal's reason", async () => {
    await using service = await silentService();
    const firestore = new Firestore({ projectId: "demo-x", host: service.host, ssl: false });
    const store = new FirestoreLeaseStore({ firestore });
    const stopping = new AbortController();
    const reading = store.read(ELECTION, { signal: stopping.signal }).catch((error: unknown) => error);
    const stream = await service.next("BatchGetDocuments");
    const closed = once(stream, "close");

    const reason = new Error("the caller's own");
    stopping.abort(reason);

    await expect(reading).resolves.toBe(reason);
    await closed;
    expect(stream.rstCode).toBe(HTTP2_CANCEL);
    await firestore.terminate();
  });

  test("and that is carried out late is found by the next renewal", async ({ world }) => {
    const clock = world.clock();
    const store = world.store({ clock });
    const lease = await win(store);
    const late = world.holdOnce("Commit");
    const renewal = world.witness.failureOf(store.renew(lease, { timeoutMs: 700 }));
    await late.arrived;
    await clock.advance(700);
    await expect(renewal).resolves.toMatchObject({ code: "STORE_TIMEOUT", mayHaveBeenApplied: true });
    await late.letGo();

    const arrivedAtMs = clock.monotonicMs() - 700;
    const found = await store.renew(lease, LIMITS);
    // The late renewal counts from its own send.
    expect(found).toMatchObject({ held: true, extendedAt: { monotonicMs: arrivedAtMs } });
  });
});

describe("the client", () => {
  test.for([
    ["nothing of the kind", {}],
    ["a string", "projects/demo-x"],
    ["null", null],
    ["a client for browsers", { type: "firestore", app: {}, toJSON: () => ({}) }],
  ] as const)("that is %s is refused at once", ([, firestore]) => {
    const make = (): unknown => new FirestoreLeaseStore({ firestore: firestore as unknown as Firestore });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(/firestore is not a Firestore of @google-cloud\/firestore .*getFirestore\(\)/);
  });

  test.for(["initializeIfNeeded", "createCallOptions", "_clientPool"])("without %s has an unsupported version", (missing) => {
    const firestore = new Firestore({ projectId: "demo-x" });
    Object.defineProperty(firestore, missing, { value: undefined });
    const make = (): unknown => new FirestoreLeaseStore({ firestore });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(/This version of @google-cloud\/firestore .*retries/);
  });

  test("may have another database, and options of the user's own", async ({ world }) => {
    const headers = { "x-acme": "billing" };
    const firestore = world.client({
      databaseId: "second",
      customHeaders: headers,
      preferRest: false,
      ignoreUndefinedProperties: true,
    });
    const store = world.store({ firestore, collection: "apps/billing/leases" });
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await store.fence({ ...lease }, { get: async (document: FirebaseFirestore.DocumentReference) => document.get() } as never);

    const names = world.calls.map(({ request }) => (request as { readonly database: string }).database);
    expect(new Set(names)).toEqual(new Set(["projects/demo-x/databases/second"]));
    expect((await firestore.doc(`apps/billing/leases/${ELECTION}`).get()).get("term")).toBe(1);
    await expect(world.fieldsAt(`apps/billing/leases/${ELECTION}`)).resolves.toBeUndefined();
  });

  test("that the store makes has the gRPC options of the README", async () => {
    const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
    const options = Object.entries(KEEPALIVE.grpcOptions);
    expect(options).toHaveLength(4);
    for (const [name, ms] of options) {
      expect(readme).toContain(`"${name}": ${ms >= 1_000 ? `${ms / 1_000}_000` : ms}`);
      // gRPC ignores unknown options.
      expect(recognizedOptions).toHaveProperty([name]);
    }
  });

  test.for<[settings: FirebaseFirestore.Settings, lacks: string]>([
    [{}, "grpc.keepalive_time_ms and grpc.max_reconnect_backoff_ms"],
    [{ grpcOptions: { "grpc.keepalive_time_ms": 60_000 } }, "grpc.max_reconnect_backoff_ms"],
    [
      { grpcOptions: { "grpc.keepalive_time_ms": 30_000, "grpc.max_reconnect_backoff_ms": 10_001 } },
      "grpc.max_reconnect_backoff_ms",
    ],
    [{ grpcOptions: { "grpc.max_reconnect_backoff_ms": 10_000 } }, "grpc.keepalive_time_ms"],
    [{ grpcOptions: { "grpc.keepalive_time_ms": 60_001, "grpc.max_reconnect_backoff_ms": 10_000 } }, "grpc.keepalive_time_ms"],
    [KEEPALIVE, ""],
    [{ host: "localhost:8080", ssl: false }, ""],
  ])("that is made with %j is warned of, since it lacks: %s", ([settings, lacks]) => {
    const store = new FirestoreLeaseStore({ firestore: new Firestore({ projectId: "demo-x", ...settings }) });
    const warnings = warningsOf(store);
    expect(warnings).toHaveLength(lacks === "" ? 0 : 1);
    if (lacks !== "") expect(String(warnings[0])).toMatch(new RegExp(`KEEPALIVE.* It lacks ${lacks.replaceAll(".", "\\.")}\\.$`));
  });

  test("that the store makes causes no warning", () => {
    expect(warningsOf(new FirestoreLeaseStore())).toEqual([]);
  });

  test("is made with the project and credentials that the SDK finds, if none is given", async ({ world }) => {
    const before = { host: process.env["FIRESTORE_EMULATOR_HOST"], project: process.env["GCLOUD_PROJECT"] };
    process.env["FIRESTORE_EMULATOR_HOST"] = world.host;
    process.env["GCLOUD_PROJECT"] = "demo-y";
    try {
      const store = new FirestoreLeaseStore({ clock: world.clock() });
      await expect(win(store)).resolves.toMatchObject({ term: 1 });
    } finally {
      for (const [name, value] of [
        ["FIRESTORE_EMULATOR_HOST", before.host],
        ["GCLOUD_PROJECT", before.project],
      ] as const) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
    expect(world.calls.at(-1)?.request).toMatchObject({ database: "projects/demo-y/databases/(default)" });
  });
});

interface SilentService extends AsyncDisposable {
  readonly host: string;
  /** The methods that were called. */
  readonly seen: readonly string[];
  /** Returns the next call, which must be of this method. */
  next(method: string): Promise<ServerHttp2Stream>;
  /** Answers that the requested document does not exist. */
  answerMissing(stream: ServerHttp2Stream): void;
}

/** Starts a service that accepts requests and leaves them open. It shows how a client gives them up. */
async function silentService(): Promise<SilentService> {
  const seen: string[] = [];
  const waiting: Array<{ readonly method: string; readonly stream: ServerHttp2Stream }> = [];
  let wake = Promise.withResolvers<void>();
  const sessions = new Set<{ destroy(): void }>();
  const server = createServer();
  server.on("session", (session) => void sessions.add(session));
  server.on("stream", (stream, headers) => {
    const method = String(headers[":path"]).split("/").at(-1)!;
    seen.push(method);
    stream.on("error", () => {});
    stream.resume();
    waiting.push({ method, stream });
    wake.resolve();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    next: async (method) => {
      while (waiting.length === 0) {
        await wake.promise;
        wake = Promise.withResolvers();
      }
      const next = waiting.shift()!;
      expect(next.method).toBe(method);
      return next.stream;
    },
    answerMissing: (stream) => {
      // BatchGetDocumentsResponse { missing = 2: "x", read_time = 4: { seconds = 1: 1 } }, in a frame of gRPC.
      const message = Buffer.from([0x12, 1, 0x78, 0x22, 2, 0x08, 1]);
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
    },
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}
