/** A process that watches an election once and then has no work left. It must end by itself. */
import { Firestore } from "@google-cloud/firestore";
import { FirestoreLeaseStore } from "@leasehold/firestore";

const firestore = new Firestore({ projectId: "demo-x", host: String(process.argv[2]), ssl: false });
const store = new FirestoreLeaseStore({ firestore });
const stopping = new AbortController();
await store.read("nightly-billing");
for await (const _ of store.watch?.("nightly-billing", { signal: stopping.signal }) ?? []) stopping.abort();
process.stdout.write("watched\n");
