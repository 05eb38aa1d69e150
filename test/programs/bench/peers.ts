import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg, totalmem } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { findProgram } from "@leasehold/test-kit/backends/find-program";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { allEnded } from "./peers/all-ended.ts";
import { measureAcquisitions, type Acquisitions } from "./peers/acquisitions.ts";
import { CONTENDER_NAMES, contenderOf, type ContenderName } from "./peers/contenders.ts";
import { playFaults, type CrewReport } from "./peers/episodes.ts";
import { LEASE_MS, type Measured, type Report } from "./peers/measured.ts";
import { pageOf } from "./peers/page.ts";
import { pictureOf } from "./peers/picture.ts";
import { knownOf, ROWS } from "./peers/rows.ts";
import { SERVICES, type RunningService, type ServiceName } from "./peers/services.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

/**
 * How often each library goes through each fault, all at the same time. Each run is two processes that ask two hundred times a
 * second. Two processors cannot run eighty of them. The result would then show how the libraries share the processors.
 */
const REPEATS = 3;
/** The time between the starts of two crews, because loading an SDK needs a processor. */
const STAGGER_MS = 1_500;

export const peers: Section = {
  name: "peers",
  about: "the same faults for dynamodb-lock-client, etcd3, redlock 4 and 5 and Leasehold, and what each costs",
  meaning:
    "Every process asks its library each 5 ms whether it leads. Two leaders are two processes that run and believe so. With " +
    "LEASEHOLD_WRITE_DOCS=1 the figures become site/pages/benchmark.md and its picture.",
  takesS: 480,
  async measure() {
    const measured = await measureAll();
    if (process.env["LEASEHOLD_WRITE_DOCS"] === "1") await write(measured);
    return Object.entries(measured.contenders).flatMap(([name, report]) => results(name as ContenderName, report));
  },
};

const folder = new URL("../../../site/pages/", import.meta.url);
export const PAGE: URL = new URL("benchmark.md", folder);
export const PICTURE: URL = new URL("benchmark.svg", folder);
export const MEASURED: URL = new URL("peers/measured.json", import.meta.url);

async function measureAll(): Promise<Measured> {
  const startMs = performance.now();
  const before = loadavg()[0]!;
  await using running = new AsyncDisposableStack();
  const ports = new Map<ServiceName, number>();
  for (const [name, { missing, start }] of Object.entries(SERVICES)) {
    if (await isMissing(missing())) continue;
    const service: RunningService = running.use(await start());
    ports.set(name as ServiceName, service.port);
  }
  const present = CONTENDER_NAMES.filter((name) => ports.has(contenderOf(name).service));
  const portOf = (name: ContenderName): number => ports.get(contenderOf(name).service)!;

  const acquisitions = new Map<ContenderName, Acquisitions>();
  for (const name of present) acquisitions.set(name, await measureAcquisitions(name, portOf(name), LEASE_MS));
  // All at once, so that none of them has a quieter machine.
  const places = Array.from({ length: REPEATS }, () => present).flat();
  const crews = await allEnded(
    places.map(async (name, at): Promise<[ContenderName, CrewReport]> => {
      await delay(at * STAGGER_MS);
      return [name, await playFaults(name, portOf(name), LEASE_MS)];
    }),
  );
  const after = loadavg()[0]!;

  const report = (name: ContenderName): Report => ({
    acquisitions: acquisitions.get(name)!,
    crews: crews.filter(([of]) => of === name).map(([, crew]) => crew),
  });
  return {
    date: new Date().toISOString().slice(0, 10),
    tookS: (performance.now() - startMs) / 1_000,
    machine: {
      processor: cpus()[0]!.model.trim(),
      processors: cpus().length,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
      load: { before, after },
    },
    versions: await versions(),
    contenders: Object.fromEntries(present.map((name) => [name, report(name)])),
  };
}

async function write(measured: Measured): Promise<void> {
  const missing = CONTENDER_NAMES.filter((name) => measured.contenders[name] === undefined);
  if (missing.length > 0) throw new Error(`The page is not written without ${missing.join(", ")}.`);
  await writeFile(MEASURED, `${JSON.stringify(measured)}\n`);
  await writeFile(PAGE, pageOf(measured));
  await writeFile(PICTURE, await pictureOf(measured));
}

/** Returns the versions that this repository pins, and those that the programs report. */
async function versions(): Promise<Record<string, string>> {
  const manifest = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as Record<
    "dependencies" | "devDependencies",
    Record<string, string>
  >;
  const pinned = { ...manifest.dependencies, ...manifest.devDependencies };
  const packages = ["dynalite", "azurite", ...CONTENDER_NAMES.flatMap((name) => contenderOf(name).packages)];
  const found = packages.map((name): [string, string] => [name, pinned[name]!.replace(/^npm:.*@/, "")]);
  for (const program of ["redis-server", "etcd", "postgres"]) {
    const path = await findProgram(program);
    if (path === undefined) continue;
    const { stdout } = await promisify(execFile)(path, ["--version"]);
    found.push([program, /\d+(\.\d+)+/.exec(stdout)?.[0] ?? stdout]);
  }
  return Object.fromEntries(found);
}

function results(name: ContenderName, report: Report): Result[] {
  const { title } = contenderOf(name);
  return ROWS.flatMap((row) => {
    const known = knownOf(row, report);
    return known.length === 0 ? [] : [{ measure: `${title}: ${row.measure}`, unit: row.unit, ...summarize(known) }];
  });
}
