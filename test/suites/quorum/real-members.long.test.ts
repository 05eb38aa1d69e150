/** A quorum of SQLite, DynamoDB and Firestore: one member stops, then two. One is emptied, and counts for a majority again. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Firestore } from "@google-cloud/firestore";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { SqlLeaseStore } from "@leasehold/sql";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { startFirestore } from "@leasehold/test-kit/backends/firestore";
import { inFile } from "@leasehold/test-kit/stores/sqlite-file";
import { expect, onTestFinished, test } from "vitest";

const election = "nightly-billing";
/** Each request to a member has a quarter of this time. */
const PATIENT = { timeoutMs: 20_000 };
/** The limit of a call that fails because members do not answer. */
const BRIEF = { timeoutMs: 2_000 };
const TIMES = { leaseDurationMs: 60_000, renewIntervalMs: 20_000, ...PATIENT };

/** Three services, and a store over them for each process. */
async function members() {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-quorum-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "data.db");
  const [dynalite, server] = await Promise.all([startDynalite(), startFirestore()]);
  onTestFinished(() => dynalite.stop());
  onTestFinished(() => server.stop());
  process.env["METADATA_SERVER_DETECTION"] = "none";
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new DynamoDBClient({ endpoint: dynalite.url, region: "eu-central-1", credentials });
  onTestFinished(() => client.destroy());
  await new DynamoDBLeaseStore({ client, tableName: "leases" }).createTable();
  const open = (): QuorumLeaseStore => {
    const firestore = new Firestore({ projectId: "demo-leasehold", host: server.host, ssl: false });
    onTestFinished(() => firestore.terminate());
    const sqlite = new SqlLeaseStore({ sqlite: path });
    onTestFinished(() => sqlite.close());
    return new QuorumLeaseStore({
      members: {
        dynamodb: new DynamoDBLeaseStore({ client, tableName: "leases" }),
        firestore: new FirestoreLeaseStore({ firestore }),
        sqlite,
      },
    });
  };
  const emptySqlite = (): void => inFile(`${path}-leasehold`, (file) => file.exec("DELETE FROM leasehold_leases"));
  const sqliteHas = (name: string): boolean =>
    inFile(
      `${path}-leasehold`,
      (file) => file.prepare("SELECT 1 FROM leasehold_leases WHERE election = ?").get(name) !== undefined,
    );
  return { dynalite, server, open, emptySqlite, sqliteHas };
}

test("any one member may stand still or lose everything, on three real services", { timeout: 600_000 }, async () => {
  const { dynalite, server, open, emptySqlite, sqliteHas } = await members();
  const [one, other] = [open(), open()];
  const won = await one.acquire({ election, candidateId: "one", value: "é", ...TIMES });
  if (!won.acquired) return expect.fail("Nobody else competes.");
  await one.renew(won.lease, PATIENT);
  expect(await other.read(election, PATIENT)).toMatchObject({ holder: "one", value: "é", term: 1 });

  await dynalite.pause();
  expect(await one.renew(won.lease, PATIENT)).toMatchObject({ held: true });
  await server.pause();
  await expect(one.renew(won.lease, BRIEF)).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) });
  server.resume();
  dynalite.resume();
  expect(await one.renew(won.lease, PATIENT)).toMatchObject({ held: true });

  emptySqlite();
  // A writer includes the store again, under a new marker, and then writes the record there.
  while (!sqliteHas(election)) {
    expect(await one.renew(won.lease, PATIENT)).toMatchObject({ held: true });
    // The request to a member outside of the majority is over once the same store has read all members.
    await one.check({ election, ...PATIENT });
  }
  await dynalite.pause();
  expect(await other.read(election, PATIENT)).toMatchObject({ holder: "one", term: 1 });
  expect(await one.release(won.lease, PATIENT)).toBe("released");
  expect(await other.read(election, PATIENT)).toMatchObject({ state: "vacant", term: 1 });
  expect(await other.acquire({ election, candidateId: "other", ...TIMES })).toMatchObject({ lease: { term: 2 } });
  dynalite.resume();
});
