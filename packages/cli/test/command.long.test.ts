import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Elector } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { SqlLeaseStore } from "@leasehold/sql";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import { mariaDbMissing, startMariaDb } from "@leasehold/test-kit/backends/mariadb";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing, startPostgres } from "@leasehold/test-kit/backends/postgres";
import { startFirestoreServer } from "@leasehold/test-kit/firestore-server";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { commandEnvironment, commandLine, runCommand, type Ran } from "@leasehold/test-kit/processes/leasehold-command";
import { Terminal, terminalMissing } from "@leasehold/test-kit/processes/terminal";
import { expect, onTestFinished, test } from "vitest";

// The real command: a process of its own on a real store.

/** Credentials that an emulator accepts. */
const AWS = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any", AWS_EC2_METADATA_DISABLED: "true" };

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(async () => await rm(folder, { recursive: true }));
  return folder;
}

/** Starts a leader of `billing` on a SQLite file, until the test is over. */
async function leader(candidateId: string): Promise<{ readonly url: string; readonly elector: Elector }> {
  const file = join(await freshFolder(), "app.db");
  const store = new SqlLeaseStore({ sqlite: file });
  const elector = new Elector({ store, election: "billing", candidateId, logger: false });
  const led = Promise.withResolvers<void>();
  elector.on("startedLeading", () => led.resolve());
  const running = elector.run(untilAborted);
  onTestFinished(async () => {
    await elector.stop();
    await running;
    await store.close();
  });
  await led.promise;
  return { url: `sqlite://${file}`, elector };
}

/** Runs doctor until the store has answered. A request fails after 5 s, and a busy machine may need that to load an SDK. */
async function doctor(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  for (;;) {
    const ran = await runCommand(["doctor", ...args], env);
    if (!/Check the (host|disk)/.test(ran.stdout)) return ran;
  }
}

test("status and watch of a leader in SQLite, who then stops", async () => {
  const { url, elector } = await leader("one");
  const env = { LEASEHOLD_STORE: url };
  expect(await runCommand(["status", "billing", "--json"], env)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('"state":"held","term":1,"holder":"one"'),
  });
  let stopped: Promise<void> | undefined;
  const watched = await runCommand(["watch", "billing"], env, (stdout) => {
    if (stdout.includes("term 1\n")) stopped ??= elector.stop();
    return stdout.includes("nobody leads\n");
  });
  expect(watched).toMatchObject({ exitCode: 0, stderr: "" });
  await stopped;
  expect(await runCommand(["status", "billing"], env)).toMatchObject({ exitCode: 3, stdout: expect.stringContaining("vacant") });
});

test("doctor on every store, by its URL", { timeout: 600_000 }, async () => {
  await using azurite = await startAzurite();
  await using dynalite = await startDynalite();
  await using firestore = await startFirestoreServer();
  await containerClient(azurite.url, "leases").create();
  await createTable(dynalite.url);
  const stores = [
    { store: `sqlite://${join(await freshFolder(), "app.db")}` },
    { store: "azure-blob://devstoreaccount1/leases?connection-string-env=AZURITE", AZURITE: azurite.connectionString },
    { store: `dynamodb://leases?region=eu-west-1&endpoint=${dynalite.url}`, ...AWS },
    { store: `firestore://demo/leases?endpoint=http://${firestore.url}`, METADATA_SERVER_DETECTION: "none" },
  ];
  await Promise.all(
    stores.map(async ({ store, ...env }) => {
      const { exitCode, stdout, stderr } = await doctor(["--store", store], env);
      expect({ store, exitCode, stderr, outcomes: stdout.match(/^\w+/gm) }).toEqual({
        store,
        exitCode: 0,
        stderr: "",
        outcomes: expect.not.arrayContaining(["failed"]),
      });
    }),
  );
});

const missingServers = (await isMissing(postgresMissing())) || (await isMissing(mariaDbMissing()));

test.skipIf(missingServers)(
  "doctor shows the statements that a server needs, and succeeds after them",
  { timeout: 600_000 },
  async () => {
    const shows = async (kind: "postgres" | "mysql", { url }: { readonly url: string }): Promise<void> => {
      const file = join(await freshFolder(), "url");
      await writeFile(file, `${url}\n`);
      const before = await doctor(["--store-file", file]);
      expect(before).toMatchObject({ exitCode: 69, stdout: expect.stringMatching(/failed +access/) });
      const statements = [...before.stdout.matchAll(/^ {9}(CREATE .*;)$/gm)].map(([, statement]) => statement);
      await using store = new SqlLeaseStore(kind === "postgres" ? { postgres: url } : { mysql: url });
      expect(statements).toHaveLength(store.migration.length);
      await store.migrate();
      expect(await doctor(["--store-file", file])).toMatchObject({ exitCode: 0 });
    };
    const [postgres, mariadb] = await Promise.all([startPostgres(), startMariaDb()]);
    await using _postgres = postgres;
    await using _mariadb = mariadb;
    await Promise.all([shows("postgres", postgres), shows("mysql", mariadb)]);
  },
);

const missingTerminal = await isMissing(terminalMissing());

test.skipIf(missingTerminal)("break asks on a terminal, and accepts only the answer yes", async () => {
  const { url, elector } = await leader("one");
  const line = commandLine(["break", "billing", "--reason", "a test", "--store", url]);
  for (const [keys, shown] of [
    [["no", "Enter"], "leasehold: nothing was changed.\nexit code 75"],
    [["C-c"], "leasehold: nothing was changed.\nexit code 75"],
    [["C-d"], "leasehold: nothing was changed.\nexit code 75"],
    [["yes", "Enter"], "leasehold: term 1 is broken; anyone may lead once its lease has run out.\nexit code 0"],
  ] as const) {
    expect(elector.isLeader).toBe(true);
    await using terminal = await Terminal.start(line, commandEnvironment());
    await terminal.shows("Break it? [yes/no]");
    await terminal.press(...keys);
    expect(await terminal.shows("exit code")).toContain(shown);
  }
});

test.for([
  [["statsu"], 64, /^leasehold: unknown command 'statsu' \(Did you mean status\?\)\n$/],
  [["status", "e", "--store", "sqlite:///no/such/folder/app.db"], 78, /^leasehold: there is no SQLite file .*\n$/],
  [
    ["break", "e", "--reason", "x", "--store", "sqlite:///never"],
    64,
    /^leasehold: there is no terminal to ask at; give --yes .*\n$/,
  ],
] as const)("leasehold %j ends with %i, and one line", async ([args, exitCode, line]) => {
  expect(await runCommand(args)).toEqual({ exitCode, stdout: "", stderr: expect.stringMatching(line) });
});

async function createTable(endpoint: string): Promise<void> {
  const { DynamoDBClient } = await import("@aws-sdk/client-dynamodb");
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new DynamoDBClient({ endpoint, region: "eu-west-1", credentials });
  await new DynamoDBLeaseStore({ client, tableName: "leases" }).createTable();
  client.destroy();
}
