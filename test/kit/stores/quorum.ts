import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordLeaseStore } from "@leasehold/core/provider";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { dynamodb } from "./dynamodb.ts";
import { firestore } from "./firestore.ts";
import { dynamodbMember, firestoreMember, sqliteMember } from "./quorum-members.ts";
import { sqlite } from "./sqlite.ts";
import { makeTermGuarded, openTermGuarded } from "./term-guarded.ts";
import type { TestStore } from "./test-store.ts";

/** A quorum of three kinds of stores, each of which can be killed, stopped and emptied by itself. */
export const quorum: TestStore = {
  title: "a quorum of SQLite, DynamoDB and Firestore",
  // A member has a quarter of an attempt. An attempt has less than a third of the time until the renew deadline.
  leaseDurationMs: 6_000,

  missing: () => Promise.resolve(undefined),

  async start() {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-quorum-"));
    const documents = join(folder, "documents.db");
    makeTermGuarded(documents);
    const [onSqlite, onDynamoDB, onFirestore] = await Promise.all([
      sqliteMember(),
      dynamodbMember(join(folder, "dynamodb")),
      firestoreMember(),
    ]);
    const members = [onSqlite, onDynamoDB, onFirestore];
    const [dynamodbUrl, firestoreHost] = [`http://${onDynamoDB.proxy.host}`, onFirestore.proxy.host];
    return {
      settings: { store: "quorum", sqlite: onSqlite.path, dynamodb: dynamodbUrl, firestore: firestoreHost, documents },
      place: `the file ${onSqlite.path}, dynalite at ${dynamodbUrl}, our Firestore server at ${firestoreHost}`,
      members,
      pause: async () => void (await Promise.all(members.map((member) => member.pause()))),
      resume: () => members.forEach((member) => member.resume()),
      [Symbol.asyncDispose]: async () => {
        await Promise.all(members.map((member) => member[Symbol.asyncDispose]()));
        await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      },
    };
  },

  async open({ sqlite: path = "", dynamodb: url = "", firestore: host = "", documents = "" }) {
    const opened = {
      sqlite: await sqlite.open({ store: "sqlite", path }),
      dynamodb: await dynamodb.open({ store: "dynamodb", url }),
      firestore: await firestore.open({ store: "firestore", host }),
    };
    const members = Object.entries(opened).map(([name, { store }]) => [name, store as RecordLeaseStore] as const);
    const { close, ...guarded } = openTermGuarded(documents);
    return {
      store: new QuorumLeaseStore({ members: Object.fromEntries(members) }),
      ...guarded,
      close: async () => void (await Promise.all([close(), ...Object.values(opened).map((member) => member.close())])),
    };
  },
};
