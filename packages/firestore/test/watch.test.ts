import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { fileURLToPath } from "node:url";
import type { DocumentReference, DocumentSnapshot, Firestore } from "@google-cloud/firestore";
import type { FirestoreLeaseStore } from "@leasehold/firestore";
import { describe, expect } from "vitest";
import { nodeArguments, nodeExecutable } from "@leasehold/test-kit/processes/owned-process";
import { startTcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { ELECTION, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { LEASE_PATH, listenersOf } from "./firestore-world.ts";
import { test } from "./world-test.ts";

/** The wake-ups of a watch, one after the other. */
class Watching {
  readonly #iterator: AsyncIterator<void>;
  readonly stopping = new AbortController();

  constructor(store: FirestoreLeaseStore, election = ELECTION) {
    this.#iterator = store.watch!(election, { signal: this.stopping.signal })[Symbol.asyncIterator]();
  }

  async next(): Promise<IteratorResult<void, unknown>> {
    return await this.#iterator.next();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    expect((await this.next()).done).toBe(true);
  }
}

describe("a watch wakes", () => {
  test("once it has begun, and at each acquisition, release and break of any process", async ({ world }) => {
    const [store, admin] = [world.store(), world.store()];
    const watching = new Watching(world.store());
    await expect(watching.next()).resolves.toEqual({ done: false, value: undefined });

    const lease = await win(store, { value: "1" });
    await watching.next();
    await admin.break(ELECTION, { reason: "test" });
    await watching.next();
    await store.release(lease, LIMITS);
    const next = await win(world.store(), { candidateId: "b" });
    await watching.next();
    expect(next.term).toBe(2);
    await watching.stop();
  });

  test("for no renewal and no publication, because it listens to the fence, which those do not write", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    let pushes = 0;
    const firestore = withDocuments(world.client(), (document) => ({
      onSnapshot: (onNext: (snapshot: DocumentSnapshot) => void, onError: (error: Error) => void) =>
        document.onSnapshot((snapshot) => {
          pushes += 1;
          onNext(snapshot);
        }, onError),
    }));
    const watching = new Watching(world.store({ firestore }));
    await watching.next();
    for (let writes = 0; writes < 5; writes += 1) {
      await store.renew(lease, LIMITS);
      await store.publish(lease, `value ${writes}`, LIMITS);
    }
    await store.release(lease, LIMITS);
    await watching.next();

    expect(pushes).toBe(2);
    await watching.stop();
  });

  test("by one Listen, and no other request", async ({ world }) => {
    const store = world.store();
    const watching = new Watching(world.store());
    await watching.next();
    expect(world.calls.map(({ method }) => method)).toEqual(["Listen"]);
    const lease = await win(store);
    await watching.next();
    await store.release(lease, LIMITS);
    await watching.next();
    expect(world.calls.filter(({ method }) => method === "Listen")).toHaveLength(1);
    await watching.stop();
  });
});

describe("a watch ends", () => {
  test("when its signal aborts, and leaves no listener", async ({ world }) => {
    const firestore = world.client();
    const watching = new Watching(world.store({ firestore }));
    await watching.next();
    expect(listenersOf(firestore)).toBe(1);
    await watching.stop();
    expect(listenersOf(firestore)).toBe(0);
    // A client that listens cannot be terminated.
    await world.disconnect(firestore);
  });

  test("when its signal aborts while it waits, or has aborted before", async ({ world }) => {
    const firestore = world.client();
    const store = world.store({ firestore });
    const watching = new Watching(store);
    await watching.next();
    const next = watching.next();
    watching.stopping.abort();
    await expect(next).resolves.toMatchObject({ done: true });

    // No request goes to the service, which may not be there to answer.
    world.calls.splice(0);
    for await (const snapshot of store.watch!(ELECTION, { signal: AbortSignal.abort() })) expect.fail(JSON.stringify(snapshot));
    expect(world.calls).toEqual([]);
    expect(listenersOf(firestore)).toBe(0);
    await world.disconnect(firestore);
  });

  test("when its loop is left", async ({ world }) => {
    const firestore = world.client();
    const { signal } = new AbortController();
    for await (const _ of world.store({ firestore }).watch!(ELECTION, { signal })) break;
    expect(listenersOf(firestore)).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await world.disconnect(firestore);
  });

  test("with an error if it is denied", async ({ world }) => {
    let unsubscribed = 0;
    const store = world.store({ firestore: deniedListener(world.client(), () => (unsubscribed += 1)) });
    await expect(world.witness.failureOf(new Watching(store).next())).resolves.toMatchObject({
      code: "STORE_DENIED",
      operation: "watch",
      mayHaveBeenApplied: false,
      message: expect.stringContaining("Missing or insufficient permissions."),
    });
    expect(unsubscribed).toBe(1);
  });

  test("so that its process may end by itself", async ({ world }) => {
    const script = fileURLToPath(new URL("./watching-process.ts", import.meta.url));
    const child = spawn(nodeExecutable(), nodeArguments(script, [world.host]), {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    const [code] = (await once(child, "close")) as [number | null];
    expect({ code, output }).toEqual({ code: 0, output: "watched\n" });
  });
});

describe("a listener that the SDK does not restart for a long time", () => {
  const YOUNG_MS = 5_000;

  test("is renewed once a request succeeds after one that failed", async ({ world }) => {
    const deaf = deafListeners(world.client());
    const clock = world.clock();
    const store = world.store({ firestore: deaf.firestore, clock });
    const watching = new Watching(store);
    const told = watching.next();
    await expect.poll(() => deaf.begun).toBe(1);

    await clock.advance(YOUNG_MS);
    world.fault("BatchGetDocuments", { code: 14, message: "away" });
    await world.witness.failureOf(store.read(ELECTION));
    await world.witness.failureOf(store.read(ELECTION));
    expect(deaf.begun).toBe(1);
    world.rule = undefined;
    await store.read("another");
    expect(deaf.begun).toBe(1);
    await store.read(ELECTION);
    expect([deaf.begun, deaf.open]).toEqual([2, 1]);
    await store.read(ELECTION);
    expect(deaf.begun).toBe(2);

    deaf.tell();
    await expect(told).resolves.toMatchObject({ done: false });
    await watching.stop();
    expect(deaf.open).toBe(0);
  });

  test("is renewed by a write that succeeds, at the earliest five seconds after it began", async ({ world }) => {
    const deaf = deafListeners(world.client());
    const clock = world.clock();
    const store = world.store({ firestore: deaf.firestore, clock });
    const lease = await win(store);
    const watching = new Watching(store);
    const told = watching.next();
    await expect.poll(() => deaf.begun).toBe(1);

    world.fault("Commit", { code: 14, message: "away" });
    await world.witness.failureOf(store.publish(lease, "1", LIMITS));
    world.rule = undefined;
    await store.publish(lease, "2", LIMITS);
    expect(deaf.begun).toBe(1);
    await clock.advance(YOUNG_MS);
    await store.publish(lease, "3", LIMITS);
    expect(deaf.begun).toBe(2);

    watching.stopping.abort();
    await expect(told).resolves.toMatchObject({ done: true });
  });
});

describe("an elector", () => {
  test("continues to poll if it may not watch", async ({ world }) => {
    world.letTimeRun();
    world.fault("Listen", { code: 7, message: "Missing or insufficient permissions." });
    const [a, b] = [world.candidate("a"), world.candidate("b", { retryPeriodMs: 100 })];
    const leading = await a.elector.campaign();
    const next = b.elector.campaign();
    const looks = (): number => world.calls.filter(({ method }) => method === "BatchGetDocuments").length;
    const before = looks();
    await expect.poll(looks).toBeGreaterThan(before + 2);
    expect(b.elector.isLeader).toBe(false);
    await leading.release();
    await using leadership = await next;
    expect(leadership.term).toBe(2);
  });

  test("is notified again after the connection has broken", async ({ world }) => {
    world.letTimeRun();
    await using proxy = await startTcpFaultProxy(Number(world.host.split(":")[1]));
    const a = world.candidate("a", { leaseDurationMs: 60_000 });
    const b = world.candidate("b", { firestore: world.client({ host: proxy.host }), retryPeriodMs: 20_000 });
    const leading = await a.elector.campaign();
    const listens = (): number => world.calls.filter(({ method }) => method === "Listen").length;
    const next = b.elector.campaign();
    // One Listen by each of them.
    await expect.poll(listens).toBe(2);
    await expect.poll(() => b.elector.leader?.candidateId).toBe("a");

    proxy.cut();
    proxy.heal();
    // The client itself begins to listen again.
    await expect.poll(listens).toBe(3);
    await leading.release();

    await using leadership = await next;
    expect(leadership.term).toBe(2);
  });

  test("takes over from a leader that stops by the push: a release, the read after it, and an acquisition", async ({ world }) => {
    world.letTimeRun();
    // No poll is due for a long time.
    const options = { leaseDurationMs: 60_000, retryPeriodMs: 30_000 };
    const [a, b] = [world.candidate("a", options), world.candidate("b", options)];
    const stop = new AbortController();
    const stopB = new AbortController();
    const runningA = a.elector.run(untilAborted, { signal: stop.signal });
    await expect.poll(() => a.elector.isLeader).toBe(true);
    const runningB = b.elector.run(untilAborted, { signal: stopB.signal });
    // It listens, and knows that a leads.
    await expect.poll(() => b.elector.leader?.candidateId).toBe("a");
    await expect.poll(() => world.calls.filter(({ method }) => method === "Listen")).toHaveLength(2);
    await world.fieldsAt(LEASE_PATH);

    const methods = await world.methodsDuring(async () => {
      stop.abort();
      await runningA;
      await expect.poll(() => b.elector.isLeader, { interval: 5 }).toBe(true);
    });

    // One read more, before the release or after it, if the first wake-up of the watch comes only now.
    const [release, read] = methods.slice(methods.indexOf("Commit"));
    expect([release, read, methods.at(-1)]).toEqual(["Commit", "BatchGetDocuments", "Commit"]);
    expect(methods.length).toBeLessThanOrEqual(4);
    stopB.abort();
    await runningB;
  });
});

/** Returns a client whose listeners end as the SDK's do after a permanent error. */
function deniedListener(firestore: Firestore, onUnsubscribe: () => void): Firestore {
  const error = Object.assign(new Error("7 PERMISSION_DENIED: Missing or insufficient permissions."), { code: 7 });
  return withDocuments(firestore, () => ({
    onSnapshot: (_: unknown, onError: (error: Error) => void) => {
      setImmediate(() => onError(error));
      return onUnsubscribe;
    },
  }));
}

/** Returns a client whose listeners get only the test's events, like the SDK's while they wait to begin again. */
function deafListeners(client: Firestore): {
  readonly firestore: Firestore;
  readonly begun: number;
  readonly open: number;
  /** Tells the last listener that there is no document. */
  readonly tell: () => void;
} {
  let [begun, open] = [0, 0];
  let last: ((snapshot: unknown) => void) | undefined;
  const firestore = withDocuments(client, () => ({
    onSnapshot: (onNext: (snapshot: unknown) => void) => {
      begun += 1;
      open += 1;
      last = onNext;
      return () => (open -= 1);
    },
  }));
  return {
    firestore,
    get begun() {
      return begun;
    },
    get open() {
      return open;
    },
    tell: () => last?.({ exists: false }),
  };
}

/** Returns the same client, with other methods on its documents. */
function withDocuments(firestore: Firestore, change: (document: DocumentReference) => object): Firestore {
  return new Proxy(firestore, {
    get: (target, key) => {
      if (key === "doc") return (path: string) => change(target.doc(path));
      const value = Reflect.get(target, key) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
