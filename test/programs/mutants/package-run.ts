import { KNOWN_EQUIVALENTS } from "./known-equivalents.ts";
import { Lane, type Baseline, type Fate, type Selection } from "./lane.ts";
import type { Mutant } from "./mutate.ts";
import { drawSample } from "./sample.ts";
import { readSources, type SourceFile } from "./sources.ts";

/** The number of test files that one process runs without a mutant. */
const BATCH = 12;

export interface PackageResult {
  /** All mutants of the package, without equivalents. */
  readonly mutants: number;
  readonly fates: ReadonlyMap<Mutant, Fate>;
}

export interface Progress {
  readonly packageName: string;
  readonly tried: number;
  readonly drawn: number;
}

export interface PackageRun {
  readonly sample: number | undefined;
  readonly seed: number;
  readonly file: string;
  readonly lanes: number;
  /** True to run the long tests on mutants that survive. */
  readonly long: boolean;
  readonly onFate: (mutant: Mutant, fate: Fate, progress: Progress) => void;
}

/** Runs a package's tests on its mutants, or on a sample of them. */
export async function runPackage(
  packageName: string,
  { sample, seed, file, lanes, long, onFate }: PackageRun,
): Promise<PackageResult> {
  const files = await readSources(packageName);
  const mutants = files.flatMap((one) => one.mutants).filter((mutant) => !isKnownEquivalent(mutant));
  const drawn = drawSample(
    mutants.filter((mutant) => mutant.file.includes(file)),
    sample ?? mutants.length,
    seed,
  );
  const fates = new Map<Mutant, Fate>();
  const settle = (mutant: Mutant, fate: Fate): void => {
    fates.set(mutant, fate);
    onFate(mutant, fate, { packageName, tried: fates.size, drawn: drawn.length });
  };
  const survivors: Mutant[] = [];
  await judge(drawn, { packageName, files, lanes, isLong: false }, (mutant, fate) => {
    if (fate === "survived" && long) survivors.push(mutant);
    else settle(mutant, fate);
  });
  if (survivors.length > 0) await judge(survivors, { packageName, files, lanes, isLong: true }, settle);
  return { mutants: mutants.length, fates };
}

export function isKnownEquivalent({ file, from, to }: Mutant): boolean {
  return KNOWN_EQUIVALENTS.some((known) => known.file === file && known.from === from && known.to === to);
}

interface Tests {
  readonly packageName: string;
  readonly files: readonly SourceFile[];
  readonly lanes: number;
  readonly isLong: boolean;
}

async function judge(
  mutants: readonly Mutant[],
  { packageName, files, lanes, isLong }: Tests,
  onFate: (mutant: Mutant, fate: Fate) => void,
): Promise<void> {
  const open = await Promise.all(Array.from({ length: lanes }, async () => await Lane.open(packageName, files, isLong)));
  try {
    const baselines = new Map<string, Baseline>();
    await inTurn(inBatches(await open[0]!.testFiles()), open, async (testFiles, lane) => {
      for (const [testFile, baseline] of await lane.baselines(testFiles)) baselines.set(testFile, baseline);
    });
    await inTurn(mutants, open, async (mutant, lane) => {
      onFate(mutant, await lane.judge(mutant, selectTests(mutant, files, baselines)));
    });
  } finally {
    await Promise.all(open.map(async (lane) => await lane[Symbol.asyncDispose]()));
  }
}

/** Returns batches of test files. Starting a process for each file would take longer than most of them take to run. */
function inBatches(testFiles: readonly string[]): string[][] {
  const count = Math.ceil(testFiles.length / BATCH);
  return Array.from({ length: count }, (_, nth) => testFiles.filter((_each, index) => index % count === nth));
}

/** Returns the tests that enter the mutant's block, the fastest files first. */
function selectTests(
  { file, block }: Mutant,
  files: readonly SourceFile[],
  baselines: ReadonlyMap<string, Baseline>,
): readonly Selection[] {
  const number = files.find(({ path }) => path === file)!.base + block;
  const selections: Selection[] = [];
  for (const [testFile, baseline] of baselines) {
    const names = baseline.byTest.filter(([, blocks]) => blocks.includes(number)).map(([name]) => name);
    if (baseline.always.includes(number)) selections.push({ testFile, baseline });
    else if (names.length > 0) selections.push({ testFile, baseline, names });
  }
  return selections.toSorted((one, other) => one.baseline.durationMs - other.baseline.durationMs);
}

/** Does `work` for each of the `tasks`, as many at a time as there are lanes. */
async function inTurn<Task>(
  tasks: readonly Task[],
  lanes: readonly Lane[],
  work: (task: Task, lane: Lane) => Promise<void>,
): Promise<void> {
  const waiting = [...tasks];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) await work(task, lane);
    }),
  );
}
