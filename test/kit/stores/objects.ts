import { S3Client } from "@aws-sdk/client-s3";
import { Storage } from "@google-cloud/storage";
import { Elector, type Leadership } from "@leasehold/core";
import type { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { BUCKET, type Protocol } from "../object-server/server.ts";
import type { GuardedDocument } from "./test-store.ts";

/** The end of a text that a fenced write has put there on S3. */
const UNIQUE_LINE = /\n[ \t]{64}$/;

/** Makes an application's client for a server of the kit. */
export function objectClient(protocol: Protocol, url: string): S3Client | Storage {
  if (protocol === "gcs") return withKey(new Storage({ apiEndpoint: url, projectId: "any", useAuthWithCustomEndpoint: true }));
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  return new S3Client({ endpoint: url, region: "eu-central-1", forcePathStyle: true, credentials });
}

/** Gives the client a key, so that it asks no server for a token. */
function withKey(storage: Storage): Storage {
  storage.authClient.cachedCredential = storage.authClient.fromAPIKey("any");
  return storage;
}

/** A request has a third of it, also on a busy machine. */
const LONG = { leaseDurationMs: 300_000 };

/** Sends each kind of request of a candidate: checks the store, leads, publishes, and does an occurrence of the election. */
export async function compete(store: ObjectStorageLeaseStore, election: string): Promise<void> {
  await store.check({ election, timeoutMs: 100_000 });
  await new Elector({ store, election, ...LONG }).tryRun(async (leadership) => await leadership.publish("here"));
  const occurrences = store.occurrences(election, { retentionMs: 86_400_000 });
  await new Elector({ store: occurrences, election: `${election}@2026-11-20T10:00:00Z`, ...LONG }).tryRun(() => {});
}

/** Returns the document of this name beside the leases. */
export function documentBeside(store: ObjectStorageLeaseStore, url: string, name: string): GuardedDocument {
  const key = `documents/${name}`;
  const read = async (): Promise<string> => {
    const reply = await fetch(new URL(`/${BUCKET}/${key}`, url), { headers: { authorization: "any" } });
    if (reply.status === 404 && (await reply.text()).includes("NoSuchKey")) return "";
    if (!reply.ok) throw new Error(`The document was not read: HTTP ${reply.status}.`);
    return (await reply.text()).replace(UNIQUE_LINE, "");
  };
  const write = async (leadership: Leadership, content: string): Promise<void> => {
    await store.fencedPut(leadership, key, content);
  };
  return {
    read,
    seal: async (leadership) => await store.seal(leadership, key),
    // After the seal only this leader can write, and it makes one write at a time.
    update: async (leadership, change) => write(leadership, change(await read())),
    write,
  };
}
