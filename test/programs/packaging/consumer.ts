import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./command.ts";
import type { Report } from "./report.ts";
import type { Manifest, Tarball } from "./tarball.ts";

/** What every entry point must export: the names that users are told to import. */
const EXPECTED_NAMES: Readonly<Record<string, readonly string[]>> = {
  "@leasehold/core": ["Elector", "Observer", "MemoryLeaseStore", "isLeaseholdError", "systemClock", "timing"],
  "@leasehold/core/provider": ["RecordLeaseStore", "checkName", "sendRequest"],
  "@leasehold/core/testing": ["VirtualClock"],
  "@leasehold/azure-blob": ["BlobDistributedMutex", "BlobLeaseStore"],
  "@leasehold/dynamodb": ["DynamoDBLeaseStore"],
  "@leasehold/dynamodb/cloudwatch": ["METRIC_NAMES", "METRICS_NAMESPACE", "publishMetrics"],
  "@leasehold/firestore": ["FirestoreLeaseStore"],
  "@leasehold/sql": ["SqlLeaseStore"],
  "@leasehold/functions": ["onlyAsLeader"],
  "@leasehold/functions/aws-lambda": ["onlyAsLeader"],
  "@leasehold/functions/azure-functions": ["onlyAsLeader"],
  "@leasehold/functions/google-cloud": ["onlyAsLeaderInJob", "onlyAsLeaderOnCloudEvent", "onlyAsLeaderOnHttp"],
  "@leasehold/conformance": ["cases", "conformance", "renderTable"],
};

/** The peers that users install next to our packages, at the version that the tests run with. */
const PEERS = {
  "@aws-sdk/client-dynamodb": "3.1162.0",
  "@aws-sdk/lib-dynamodb": "3.1162.0",
  "@azure/functions": "4.16.5",
  "@azure/storage-blob": "12.34.0",
  "@google-cloud/firestore": "9.4.1",
  "@google-cloud/functions-framework": "5.0.5",
  "@types/aws-lambda": "8.10.164",
};

const PROGRAM = `
const expected = ${JSON.stringify(EXPECTED_NAMES)};
for (const [specifier, names] of Object.entries(expected)) {
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
import { VirtualClock } from "@leasehold/core/testing";
import { BlobDistributedMutex, BlobLeaseStore } from "@leasehold/azure-blob";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { publishMetrics } from "@leasehold/dynamodb/cloudwatch";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import { onlyAsLeader } from "@leasehold/functions";
import { onlyAsLeader as lambda } from "@leasehold/functions/aws-lambda";
import { onlyAsLeader as azure } from "@leasehold/functions/azure-functions";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import { SqlLeaseStore } from "@leasehold/sql";

const task: LeaderTask = async (leadership) => {
  leadership.signal.throwIfAborted();
  await Promise.resolve(leadership.term.toFixed());
};
const elector = new Elector({ store: new MemoryLeaseStore(), election: "consumer", clock: new VirtualClock() });

export const run = (signal: AbortSignal): Promise<void> => elector.run(task, { signal });
export const stopMetrics = (): void => publishMetrics(elector, { write: (line) => line.length }).stop();
export const asStores = (...stores: (BlobLeaseStore | DynamoDBLeaseStore | FirestoreLeaseStore | SqlLeaseStore)[]): LeaseStore[] => stores;
export const lead = (mutex: BlobDistributedMutex, signal: AbortSignal): Promise<unknown> => mutex.runTaskWhenMutexAcquired(signal);
const store = new DynamoDBLeaseStore({ tableName: "leases" });
export const handlers = [
  onlyAsLeader({ store, election: "consumer", remainingMs: 60_000 }, (leadership) => leadership.term),
  lambda({ store, election: "consumer" }, async (event, context, leadership) => [event.time, leadership.fence().ConditionCheck]),
  azure({ store, election: "consumer" }, (timer, context, leadership) => leadership.checkpoint()),
  onlyAsLeaderOnHttp({ store, election: "consumer" }, (request, response, leadership) => response.json(leadership.term)),
];
// @ts-expect-error An elector without a store would compile only if its types had been lost on the way.
export const wrong = new Elector({ election: "consumer" });
`;

const COMPILER_OPTIONS = {
  target: "es2022",
  module: "nodenext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  types: ["node"],
  // Everything that our declarations import has to be there for a user too.
  skipLibCheck: false,
};

/** Checks that the packages work together where only their tarballs are. */
export function checkConsumer(report: Report, tarballs: readonly Tarball[], folder: string, root: string): void {
  report.check("consumer: every entry point has names to look for", () => {
    const entries = tarballs.flatMap(entryPoints).toSorted();
    const expected = Object.keys(EXPECTED_NAMES).toSorted();
    if (entries.join() !== expected.join()) {
      throw new Error(`EXPECTED_NAMES has ${expected.join(", ")}; the packages export ${entries.join(", ")}`);
    }
  });
  const installed = report.check("consumer: npm install of the tarballs", () => {
    write(folder, "package.json", JSON.stringify(consumerManifest(tarballs, root)));
    run("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"], folder);
    return true;
  });
  if (!installed) return;
  report.check("consumer: imports them under Node, and elects a leader", () => {
    write(folder, "program.js", PROGRAM);
    run(process.execPath, ["program.js"], folder);
  });
  report.check("consumer: compiles against their types", () => {
    write(folder, "typed-program.ts", TYPED_PROGRAM);
    write(folder, "tsconfig.json", JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ["typed-program.ts"] }));
    run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.json"], folder);
  });
}

function entryPoints({ manifest }: Tarball): string[] {
  const paths = Object.keys((manifest.exports ?? {}) as object).filter((path) => path !== "./package.json");
  return paths.map((path) => manifest.name + path.slice(1));
}

function consumerManifest(tarballs: readonly Tarball[], root: string): object {
  const ours = Object.fromEntries(tarballs.map(({ manifest, path }) => [manifest.name, `file:${path}`]));
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest & {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const types = { "@types/node": devDependencies["@types/node"] };
  return { name: "consumer", version: "1.0.0", private: true, type: "module", dependencies: { ...ours, ...PEERS, ...types } };
}

function write(folder: string, name: string, content: string): void {
  writeFileSync(join(folder, name), content);
}
