import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./command.ts";
import { npmInstall } from "./install.ts";
import type { Report } from "./report.ts";
import type { Manifest, Tarball } from "./tarball.ts";
import { checkUsers } from "./users.ts";

/** A program that imports everything that the documents import, and leads. */
const program = (names: Readonly<Record<string, readonly string[]>>): string => `
for (const [specifier, names] of Object.entries(${JSON.stringify(names)})) {
  const found = Object.keys(await import(specifier));
  const missing = names.filter((name) => !found.includes(name));
  if (missing.length > 0) throw new Error(specifier + " does not export " + missing.join(", ") + "; it exports " + found.join(", "));
}
const { Elector, MemoryLeaseStore } = await import("@leasehold/core");
const elector = new Elector({ store: new MemoryLeaseStore(), election: "consumer" });
const outcome = await elector.tryRun((leadership) => { leadership.assertValid(); });
if (!outcome.elected || outcome.term !== 1) throw new Error("The only candidate was not elected: " + JSON.stringify(outcome));
`;

const TYPED_PROGRAM = `
import { Elector, MemoryLeaseStore, type LeaderTask, type LeaseStore } from "@leasehold/core";
import { publishMetrics } from "@leasehold/core/diagnostics";
import { VirtualClock } from "@leasehold/core/testing";
import { BlobDistributedMutex, BlobLeaseStore } from "@leasehold/azure-blob";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { EtcdLeaseStore } from "@leasehold/etcd";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { Fleet } from "@leasehold/fleet";
import { onlyAsLeader } from "@leasehold/functions";
import { onlyAsLeader as lambda } from "@leasehold/functions/aws-lambda";
import { onlyAsLeader as azure } from "@leasehold/functions/azure-functions";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { oncePerTick as byCron } from "@leasehold/schedulers/cron";
import { oncePerTick as byCroner } from "@leasehold/schedulers/croner";
import { every } from "@leasehold/schedulers/interval";
import { OncePerTick } from "@leasehold/schedulers/nestjs";
import { oncePerTick as byNodeCron, RunClaims } from "@leasehold/schedulers/node-cron";
import { oncePerTick as byNodeSchedule } from "@leasehold/schedulers/node-schedule";
import { ObjectStorageLeaseStore } from "@leasehold/object-storage";
import { KubernetesLeaseStore } from "@leasehold/kubernetes";
import { QuorumLeaseStore } from "@leasehold/quorum";
import { RedisLeaseStore } from "@leasehold/redis";
import { SqlLeaseStore } from "@leasehold/sql";
import { VotingLeaseStore } from "@leasehold/voting";
import { storeFromUrl } from "leasehold";

const task: LeaderTask = async (leadership) => {
  leadership.signal.throwIfAborted();
  await Promise.resolve(leadership.term.toFixed());
};
const elector = new Elector({ store: new MemoryLeaseStore(), election: "consumer", clock: new VirtualClock() });

export const run = (signal: AbortSignal): Promise<void> => elector.run(task, { signal });
export const stopMetrics = (): void => publishMetrics(elector, { write: (line) => line.length }).stop();
export const asStores = (...stores: (BlobLeaseStore | DynamoDBLeaseStore | EtcdLeaseStore | FirestoreLeaseStore | KubernetesLeaseStore | ObjectStorageLeaseStore | QuorumLeaseStore | RedisLeaseStore | SqlLeaseStore | VotingLeaseStore)[]): LeaseStore[] => stores;
export const named = async (): Promise<LeaseStore> => storeFromUrl("memory:");
export const lead = (mutex: BlobDistributedMutex, signal: AbortSignal): Promise<unknown> => mutex.runTaskWhenMutexAcquired(signal);
const store = new DynamoDBLeaseStore({ tableName: "leases" });
export const handlers = [
  onlyAsLeader({ store, election: "consumer", remainingMs: 60_000 }, (leadership) => leadership.term),
  lambda({ store, election: "consumer" }, async (event, context, leadership) => [event.time, leadership.fence().ConditionCheck]),
  azure({ store, election: "consumer" }, (timer, context, leadership) => leadership.checkpoint()),
  onlyAsLeaderOnHttp({ store, election: "consumer" }, (request, response, leadership) => response.json(leadership.term)),
];
export const jobs = [
  byCron({ store, name: "consumer" }, ({ occurrence }) => occurrence.id),
  byCroner({ store, name: "consumer" }, ({ signal }, { name }) => [signal.aborted, name]),
  byNodeCron({ store, name: "consumer" }, ({ fence }, { date }) => [fence().ConditionCheck, date]),
  byNodeSchedule({ store, name: "consumer" }, ({ occurrence }) => occurrence.id),
  every({ store, name: "consumer", periodMs: 30_000 }, ({ occurrence }) => occurrence.id),
  OncePerTick("* * * * *", { name: "consumer" }, { store }),
  new RunClaims({ store }),
];
export const shards = new Fleet({ store, fleet: "consumer", shards: 4 }).run((shard) => store.fence(shard).ConditionCheck);
// @ts-expect-error An elector without a store would compile only if its types had been lost on the way.
export const wrong = new Elector({ election: "consumer" });
`;

/** The compiler options of users, with a bundler and without. */
const RESOLUTIONS = [
  { module: "node16", moduleResolution: "node16" },
  { module: "nodenext", moduleResolution: "nodenext" },
  { module: "esnext", moduleResolution: "bundler" },
];

const COMPILER_OPTIONS = {
  target: "es2022",
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  types: ["node"],
  // A user must also have every package that our declarations import.
  skipLibCheck: false,
};

/** Checks that the packages work together in a folder with nothing but their tarballs. */
export async function checkConsumer(report: Report, tarballs: readonly Tarball[], folder: string, root: string): Promise<void> {
  const names = Object.fromEntries(tarballs.flatMap(entryPoints).map((entry) => [entry, importedNames(entry, root)]));
  await report.check("consumer: documents and examples import from every entry point", () => {
    const untold = Object.keys(names).filter((entry) => names[entry]?.length === 0);
    if (untold.length > 0) throw new Error(`None shows how to use ${untold.join(", ")}.`);
  });
  write(folder, "program.js", program(names));
  write(folder, "typed-program.ts", TYPED_PROGRAM);
  const installed = report.check("consumer: npm install of the tarballs", async () => {
    write(folder, "package.json", JSON.stringify(consumerManifest(tarballs, root)));
    await npmInstall(folder);
    return true as const;
  });
  await Promise.all([
    installed.then(async (isInstalled) => isInstalled && (await checkImports(report, folder, root))),
    checkUsers(report, { tarballs, entries: Object.keys(names), folder, root, installed }),
  ]);
}

async function checkImports(report: Report, folder: string, root: string): Promise<void> {
  await Promise.all([
    report.check(
      "consumer: imports them under Node, and elects a leader",
      async () => await run(process.execPath, ["program.js"], folder),
    ),
    ...RESOLUTIONS.map(async (resolution) =>
      report.check(`consumer: compiles against their types, with moduleResolution ${resolution.moduleResolution}`, async () => {
        const compilerOptions = { ...COMPILER_OPTIONS, ...resolution };
        const config = `tsconfig.${resolution.moduleResolution}.json`;
        write(folder, config, JSON.stringify({ compilerOptions, files: ["typed-program.ts"] }));
        await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", config], folder);
      }),
    ),
  ]);
}

function entryPoints({ manifest }: Tarball): string[] {
  const paths = Object.keys((manifest.exports ?? {}) as object).filter((path) => path !== "./package.json");
  return paths.map((path) => manifest.name + path.slice(1));
}

/** Returns the names that documents and examples import from an entry point, and so users as well. */
function importedNames(entry: string, root: string): string[] {
  const files = globSync(["*.md", "site/pages/*.md", "packages/*/*.md", "packages/sql/orms/*.md", "examples/**/*.{md,ts}"], {
    cwd: root,
    exclude: ["**/node_modules/**"],
  });
  const imports = files.flatMap((file) => [
    ...readFileSync(join(root, file), "utf8").matchAll(/^import \{([^}]*)\} from "([^"]*)"/gm),
  ]);
  const names = imports
    .filter(([, , from]) => from === entry)
    .flatMap(([, list = ""]) => list.split(",").map((name) => name.trim()));
  return [...new Set(names)].filter((name) => !name.startsWith("type "));
}

function consumerManifest(tarballs: readonly Tarball[], root: string): object {
  const ours = Object.fromEntries(tarballs.map(({ manifest, path }) => [manifest.name, `file:${path}`]));
  const peers = Object.fromEntries(tarballs.flatMap(wantedPeers).filter(([name]) => !(name in ours)));
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  const types = { "@types/node": devDependencies?.["@types/node"] };
  return { name: "consumer", version: "1.0.0", private: true, type: "module", dependencies: { ...ours, ...peers, ...types } };
}

/** Returns the peers that a user installs, at the versions of the tests. Includes an optional peer only if our types name it. */
function wantedPeers({ folder, manifest }: Tarball): [name: string, version: string | undefined][] {
  const declarations = globSync("dist/**/*.d.ts", { cwd: folder }).map((file) => readFileSync(join(folder, file), "utf8"));
  const isNamed = (peer: string): boolean => declarations.some((text) => text.includes(`from "${peer.replace("@types/", "")}"`));
  return Object.keys(manifest.peerDependencies ?? {})
    .filter((peer) => manifest.peerDependenciesMeta?.[peer]?.optional !== true || isNamed(peer))
    .map((peer) => [peer, manifest.devDependencies?.[peer]]);
}

function write(folder: string, name: string, content: string): void {
  writeFileSync(join(folder, name), content);
}
