import { Firestore } from "@google-cloud/firestore";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { startFirestore } from "../backends/firestore.ts";
import type { GuardedDocument, TestStore } from "./test-store.ts";

/** Firestore, on our own server. */
export const firestore: TestStore = {
  title: "Firestore",
  leaseDurationMs: 2_000,

  missing: () => Promise.resolve(undefined),

  async start() {
    const server = await startFirestore();
    return {
      settings: { store: "firestore", host: server.host },
      place: `@leasehold/test-kit/firestore-server, in memory, ${server.host}`,
      pause: () => server.pause(),
      resume: () => server.resume(),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },

  open({ host = "" }) {
    // Without this the client looks for a metadata server first.
    process.env["METADATA_SERVER_DETECTION"] = "none";
    const client = new Firestore({ projectId: "demo-leasehold", host, ssl: false });
    const store = new FirestoreLeaseStore({ firestore: client });
    return Promise.resolve({
      store,
      document: (name) => documentIn(client, store, name),
      isRefusal: (error) => isLeaseholdError(error, "FENCED"),
      close: () => client.terminate(),
    });
  },
};

function documentIn(client: Firestore, store: FirestoreLeaseStore, name: string): GuardedDocument {
  const document = client.doc(`documents/${name}`);
  const write = async (leadership: Leadership, content: string): Promise<void> => {
    await client.runTransaction(async (transaction) => {
      await store.fence(leadership, transaction);
      transaction.set(document, { content });
    });
  };
  return {
    read: async () => String((await document.get()).get("content") ?? ""),
    update: async (leadership, change) => {
      await client.runTransaction(async (transaction) => {
        await store.fence(leadership, transaction);
        const before = await transaction.get(document);
        transaction.set(document, { content: change(String(before.get("content") ?? "")) });
      });
    },
    write,
  };
}
