/** The calls of the generated client of the API, and the handling of its answers. The test supplies a fake client. */
import { EventEmitter, getEventListeners } from "node:events";
import type { Firestore } from "@google-cloud/firestore";
import { ConfigurationError } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import { FirestoreRequests } from "../src/requests.ts";

const TIME = { seconds: "5", nanos: 0 };
const FOUND = { fields: { a: { stringValue: "b" } }, updateTime: TIME };
const WRITES = [{ path: "leases/e", fields: {}, currentDocument: { exists: false } }];

interface Answers {
  /** The messages of a read's stream. It ends after them. */
  readonly messages?: readonly object[];
  readonly commit?: () => object;
  /** Gets the credentials. */
  readonly initialize?: () => Promise<void>;
  /** Learns the project. */
  readonly learnProject?: () => Promise<void>;
}

function apiWith({ messages = [], commit, initialize, learnProject }: Answers) {
  const sent: string[] = [];
  const needsGrpc: boolean[] = [];
  const client = {
    firestoreStub: Promise.resolve() as Promise<void> | undefined,
    initialize: async () => await initialize?.(),
    batchGetDocuments: () => {
      sent.push("read");
      const stream = Object.assign(new EventEmitter(), { cancel: () => sent.push("cancelled") });
      setImmediate(() => {
        for (const message of messages) stream.emit("data", message);
        stream.emit("end");
      });
      return stream;
    },
    commit: async () => {
      sent.push("commit");
      return [commit?.() ?? { writeResults: [{ updateTime: TIME }] }];
    },
  };
  const firestore = {
    collection: () => undefined,
    runTransaction: () => undefined,
    formattedName: "projects/p/databases/d",
    initializeIfNeeded: async () => await learnProject?.(),
    createCallOptions: () => ({}),
    _clientPool: {
      run: async (_: string, requiresGrpc: boolean, use: (one: typeof client) => Promise<unknown>) => {
        needsGrpc.push(requiresGrpc);
        return await use(client);
      },
    },
  };
  return { requests: new FirestoreRequests(firestore as unknown as Firestore), client, sent, needsGrpc };
}

function signalOf(abort = new AbortController()): AbortSignal {
  return abort.signal;
}

describe("a read", () => {
  test("uses the messages about the document, and ignores all others", async () => {
    const elsewhere = [{ readTime: TIME }, { found: FOUND }, { missing: "x" }, { transaction: "t" }];
    const { requests } = apiWith({ messages: [...elsewhere, { found: FOUND, readTime: TIME }] });
    await expect(requests.read("e", "leases/e", signalOf())).resolves.toEqual({ document: FOUND, readTime: TIME });
  });

  test("of a missing document returns that, and the time of the read", async () => {
    const { requests } = apiWith({ messages: [{ found: null, missing: "leases/e", readTime: TIME }] });
    const reading = await requests.read("e", "leases/e", signalOf());
    expect(reading).toEqual({ document: undefined, readTime: TIME });
    expect(reading.document).toBeUndefined();
  });

  test("whose reply ends without the document fails", async () => {
    const { requests } = apiWith({ messages: [{ readTime: TIME }] });
    await expect(requests.read("e", "leases/e", signalOf())).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      operation: "get",
      mayHaveBeenApplied: false,
      message: expect.stringContaining("the reply says nothing of the document"),
    });
  });

  test("leaves no listener on its signal", async () => {
    const { requests } = apiWith({ messages: [{ found: FOUND, readTime: TIME }] });
    const signal = signalOf();
    await requests.read("e", "leases/e", signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("a commit", () => {
  test.for([{}, { writeResults: null }, { writeResults: [] }, { writeResults: [{ updateTime: null }] }])(
    "whose reply is %j has an unknown outcome, because it has no version",
    async (reply) => {
      const { requests } = apiWith({ commit: () => reply });
      await expect(requests.commit("e", WRITES, signalOf())).rejects.toMatchObject({
        code: "STORE_UNAVAILABLE",
        mayHaveBeenApplied: true,
        message: expect.stringContaining("the reply has no update time"),
      });
    },
  );

  test("that was not sent, without a project or a client, has not been carried out", async () => {
    const failing = (): Promise<never> => Promise.reject(new Error("no route to the metadata server"));
    for (const answers of [{ learnProject: failing }, { initialize: failing }]) {
      const { requests, sent } = apiWith(answers);
      await expect(requests.commit("e", WRITES, signalOf())).rejects.toMatchObject({
        code: "STORE_UNAVAILABLE",
        mayHaveBeenApplied: false,
      });
      expect(sent).toEqual([]);
    }
  });
});

test("nothing is sent after the signal has aborted, even during the search for the project or the credentials", async () => {
  for (const step of ["learnProject", "initialize"] as const) {
    const abort = new AbortController();
    const { requests, sent } = apiWith({ [step]: async () => abort.abort(new Error("given up")) });
    await expect(requests.read("e", "leases/e", abort.signal)).rejects.toThrow("given up");
    await expect(requests.commit("e", WRITES, abort.signal)).rejects.toThrow("given up");
    expect(sent).toEqual([]);
  }
});

test("a client that failed to get its credentials tries again at the next call", async () => {
  let tries = 0;
  const { requests, client, sent } = apiWith({
    messages: [{ found: FOUND, readTime: TIME }],
    initialize: async () => {
      tries += 1;
      if (tries === 1) throw new Error("Could not load the default credentials. Browse to …");
    },
  });
  await expect(requests.read("e", "leases/e", signalOf())).rejects.toMatchObject({ code: "STORE_UNAUTHENTICATED" });
  // Otherwise the SDK would give the same rejection for ever.
  expect(client.firestoreStub).toBeUndefined();
  expect(sent).toEqual([]);
  client.firestoreStub = Promise.resolve();
  await requests.read("e", "leases/e", signalOf());
  expect(client.firestoreStub).toBeDefined();
});

test("only a watch needs gRPC: elsewhere the user may prefer REST", async () => {
  const { requests, needsGrpc } = apiWith({ messages: [{ found: FOUND, readTime: TIME }] });
  await requests.read("e", "leases/e", signalOf());
  await requests.commit("e", WRITES, signalOf());
  await requests.ready("e", signalOf());
  expect(needsGrpc).toEqual([false, false, true]);
});

test.for(["collection", "runTransaction"])("half of a Firestore, with %s alone, is refused", (method) => {
  const half = { [method]: () => undefined } as unknown as Firestore;
  expect(() => new FirestoreRequests(half)).toThrow(ConfigurationError);
  expect(() => new FirestoreRequests(half)).toThrow(/firestore is not a Firestore of/);
});
