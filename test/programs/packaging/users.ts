import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { run } from "./command.ts";
import { install } from "./install.ts";
import type { Report } from "./report.ts";
import type { Tarball } from "./tarball.ts";

/** The oldest supported version, the newest one at the last change of this line, and the newest one that is refused. */
const NODES = { oldest: "22.13.0", newest: "26.10.0", refused: "20.20.2" };
const REFUSAL = `Error: Leasehold needs Node 22.13 or later, and this is Node ${NODES.refused}.`;
const JEST = "30.5.2";

const LEADS = `
const elector = new Elector({ store, election: "user" });
const outcome = await elector.tryRun((leadership) => leadership.term);
if (outcome.result !== 1) throw new Error("The only candidate was not elected: " + JSON.stringify(outcome));
`;
const ELECTION = `import { Elector, MemoryLeaseStore } from "@leasehold/core";\nconst store = new MemoryLeaseStore();\n${LEADS}`;
/** A program for each store. A store whose service is absent here is only constructed. */
const PROGRAMS: Readonly<Record<string, string>> = {
  core: ELECTION,
  "azure-blob": `import { BlobLeaseStore } from "@leasehold/azure-blob";
import { ContainerClient } from "@azure/storage-blob";
console.log(new BlobLeaseStore({ container: new ContainerClient("https://example.invalid/leases") }).capabilities);`,
  dynamodb: `import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
console.log(new DynamoDBLeaseStore({ client: new DynamoDBClient({ region: "eu-central-1" }), tableName: "leases" }).capabilities);`,
  etcd: `import { EtcdLeaseStore } from "@leasehold/etcd";
console.log(new EtcdLeaseStore({ endpoints: "http://127.0.0.1:2379" }).capabilities);`,
  firestore: `import { FirestoreLeaseStore } from "@leasehold/firestore";
import { Firestore } from "@google-cloud/firestore";
console.log(new FirestoreLeaseStore({ firestore: new Firestore({ projectId: "demo-x" }) }).capabilities);`,
  quorum: `import { MemoryRecordStore } from "@leasehold/core/provider";
import { Elector } from "@leasehold/core";
import { QuorumLeaseStore } from "@leasehold/quorum";
const members = { a: new MemoryRecordStore(), b: new MemoryRecordStore(), c: new MemoryRecordStore() };
const store = new QuorumLeaseStore({ members });
${LEADS}`,
  kubernetes: `import { KubernetesLeaseStore } from "@leasehold/kubernetes";
const kubeConfig = {
  "current-context": "here",
  contexts: [{ name: "here", context: { cluster: "c", user: "u", namespace: "jobs" } }],
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:6443" } }],
  users: [{ name: "u", user: {} }],
};
console.log(new KubernetesLeaseStore({ kubeConfig }).capabilities);`,
  redis: `import { RedisLeaseStore } from "@leasehold/redis";
console.log(new RedisLeaseStore({ url: "redis://127.0.0.1:6379" }).capabilities);`,
  "object-storage": `import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
console.log(new ObjectStorageLeaseStore({ url: "s3://leases?region=eu-central-1" }).capabilities);`,
  voting: `import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { Elector } from "@leasehold/core";
import { VotingLeaseStore } from "@leasehold/voting";
const stateDirectory = mkdtempSync(tmpdir() + "/votes-");
const servers = { a: "http://127.0.0.1:" + (20000 + (process.pid % 10000)) };
const store = await VotingLeaseStore.open({ server: "a", servers, secret: "what servers sign by", stateDirectory });
const elector = new Elector({ store, election: "user" });
const leadership = await elector.campaign();
if (!(leadership.term > 1_000_000)) throw new Error("The only server has given the term " + leadership.term);
await leadership[Symbol.asyncDispose]();
await store.close();`,
  sql: `import { Elector } from "@leasehold/core";
import { SqlLeaseStore } from "@leasehold/sql";
const store = new SqlLeaseStore({ sqlite: process.argv[2] });
await store.migrate();
${LEADS}
await store.close();`,
};

/** Returns a program that imports and requires each entry, and prints the result. */
const tryingAll = (entries: readonly string[]): string => `
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
for (const entry of ${JSON.stringify(entries)}) {
  for (const load of [(name) => import(name), async (name) => require(name)]) {
    console.log(await load(entry).then(() => entry + " was let pass", String));
  }
}`;

const JEST_TEST = `${ELECTION.replace(LEADS, "")}
test("the only candidate is elected", async () => {${LEADS}});
`;

/** The test of a user who controls time and the store. */
const JEST_FAKES_TEST = `import { jest } from "@jest/globals";
import { Elector } from "@leasehold/core";
import { TestLeaseStore } from "@leasehold/core/testing";
test("a task stops once its lease is lost, under fake timers", async () => {
  jest.useFakeTimers();
  const store = new TestLeaseStore();
  const elector = new Elector({ store, election: "billing", logger: false });
  let code;
  const task = ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve((code = signal.reason.code))));
  const running = elector.run(task);
  await jest.advanceTimersByTimeAsync(100);
  expect(elector.isLeader).toBe(true);
  await store.lose("billing");
  await jest.advanceTimersByTimeAsync(elector.timing.renewIntervalMs);
  expect(code).toBe("LEASE_LOST");
  const stopped = elector.stop();
  await jest.advanceTimersByTimeAsync(20_000);
  await Promise.all([stopped, running]);
  jest.useRealTimers();
});
`;

export interface Users {
  readonly tarballs: readonly Tarball[];
  /** The entry points of the packages. */
  readonly entries: readonly string[];
  /** The folder in which they are installed once `installed` resolves with `true`. */
  readonly folder: string;
  readonly installed: Promise<true | undefined>;
  readonly root: string;
}

/** Checks typical uses of the packages: the supported versions of Node, import and require, bundles, and Jest. */
export async function checkUsers(report: Report, users: Users): Promise<void> {
  const { folder, installed } = users;
  const found = report.check("users: the oldest and the newest Node, and one that is too old, are installed", async () =>
    installNodes(join(folder, "../nodes")),
  );
  const jest = installJest(report, users);
  const nodes = await found;
  if (!nodes) return;
  await Promise.all([
    checkConformance(report, nodes, users),
    installed.then(async (isInstalled) => {
      if (!isInstalled) return;
      for (const [what, code] of Object.entries(PROGRAMS)) writeFileSync(join(folder, `${what}.mjs`), code);
      await Promise.all([checkNodes(report, nodes, users), checkBundles(report, nodes, users)]);
    }),
    jest.then(async (project) => project !== undefined && (await checkJest(report, nodes, project))),
  ]);
}

type Nodes = Readonly<Record<keyof typeof NODES, string>>;

async function checkConformance(report: Report, nodes: Nodes, { root }: Users): Promise<void> {
  await report.check(`users: the conformance suite on SQLite, with Node ${NODES.oldest}`, async () => {
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    await run(nodes.oldest, [vitest, "run", "packages/sql/test/conformance-on-sqlite.test.ts"], root);
  });
}

async function checkNodes(report: Report, nodes: Nodes, { entries, folder }: Users): Promise<void> {
  writeFileSync(
    join(folder, "all.cjs"),
    `for (const entry of ${JSON.stringify(entries)}) if (Object.keys(require(entry)).length === 0) throw new Error(entry);`,
  );
  for (const which of ["oldest", "newest"] as const) {
    const [node, version] = [nodes[which], NODES[which]];
    await report.check(`users: Node ${version} imports them`, async () => await run(node, ["program.js"], folder));
    await report.check(`users: Node ${version} requires them`, async () => await run(node, ["all.cjs"], folder));
    await report.check(
      `users: Node ${version} elects a leader in SQLite`,
      async () => await run(node, ["sql.mjs", join(folder, `${which}.db`)], folder),
    );
  }
  await report.check(`users: Node ${NODES.refused} is told so, from whichever entry, imported or required`, async () => {
    writeFileSync(join(folder, "refused.mjs"), tryingAll(entries));
    const said = (await run(nodes.refused, ["refused.mjs"], folder)).trim().split("\n");
    const wrong = said.filter((line) => line !== REFUSAL);
    if (said.length !== 2 * entries.length || wrong.length > 0)
      throw new Error(wrong.join("\n") || `only ${said.length} were refused`);
  });
}

async function checkBundles(report: Report, nodes: Nodes, { folder, root }: Users): Promise<void> {
  for (const what of Object.keys(PROGRAMS)) {
    await report.check(`users: a bundle of ${what} runs`, async () => {
      const bundle = join(folder, `${what}.bundle.mjs`);
      // The SDKs come from the user, and are many times as large.
      const options = ["--bundle", "--minify", "--platform=node", "--format=esm", "--external:pg", "--external:mysql2"];
      const sdks = ["--external:@aws-sdk/*", "--external:@azure/*", "--external:@google-cloud/*"];
      await run(join(root, "node_modules/.bin/esbuild"), [`${what}.mjs`, ...options, ...sdks, `--outfile=${bundle}`], folder);
      await run(nodes.oldest, [bundle, join(folder, "bundle.db")], folder);
      await refuses(nodes.refused, [bundle], folder);
      const sizes = [statSync(bundle).size, gzipSync(readFileSync(bundle)).length];
      console.log(`      the bundle of ${what}: ${sizes[0]} bytes minified, ${sizes[1]} gzipped, without the SDK`);
    });
  }
}

/** Returns the folder of a project that has Jest and core. */
async function installJest(report: Report, { folder, tarballs }: Users): Promise<string | undefined> {
  const jest = join(folder, "../jest");
  return await report.check("users: Jest is installed beside core", async () => {
    const core = tarballs.find(({ manifest }) => manifest.name === "@leasehold/core");
    await install(jest, { "@leasehold/core": `file:${core?.path ?? ""}`, jest: JEST });
    writeFileSync(join(jest, "imports.test.mjs"), JEST_TEST);
    writeFileSync(join(jest, "fakes.test.mjs"), JEST_FAKES_TEST);
    writeFileSync(
      join(jest, "requires.test.cjs"),
      JEST_TEST.replace("import {", "const {").replace('from "@leasehold/core"', '= require("@leasehold/core")'),
    );
    return jest;
  });
}

async function checkJest(report: Report, nodes: Nodes, project: string): Promise<void> {
  const options = ["--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--testMatch"];
  await report.check(
    "users: Jest runs tests that import, on the oldest Node",
    async () => await run(nodes.oldest, [...options, "**/*.test.mjs"], project),
  );
  await report.check(
    "users: Jest runs tests that import or require, on the newest",
    async () => await run(nodes.newest, [...options, "**/*.test.?js"], project),
  );
}

async function installNodes(folder: string): Promise<Nodes> {
  const name = `node-${process.platform}-${process.arch}`;
  await install(folder, Object.fromEntries(Object.entries(NODES).map(([which, version]) => [which, `npm:${name}@${version}`])));
  const binary = (which: keyof typeof NODES): string => join(folder, "node_modules", which, "bin/node");
  return { oldest: binary("oldest"), newest: binary("newest"), refused: binary("refused") };
}

/** @throws if the program succeeds, or fails without the reason. */
async function refuses(node: string, args: readonly string[], folder: string): Promise<void> {
  let said: string;
  try {
    said = await run(node, args, folder);
  } catch (error) {
    said = String(error);
    if (said.includes(REFUSAL)) return;
  }
  throw new Error(`${args.join(" ")} was not refused:\n${said}`);
}
