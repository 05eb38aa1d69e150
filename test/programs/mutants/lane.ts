import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BaseSequencer, createVitest, type TestModule, type TestSpecification, type Vitest } from "vitest/node";
import { testProject } from "../../../vitest.config.ts";
import type { Mutant } from "./mutate.ts";
import { PresentSources } from "./present-sources.ts";
import type { Reached, TestLimits, WorkerOrders } from "./reach.ts";
import { ROOT, type SourceFile } from "./sources.ts";

/** The time of a test file, and the blocks that it enters, without a mutant. */
export interface Baseline extends Reached {
  /** The duration of its tests. */
  readonly durationMs: number;
  readonly slowestTestMs: number;
}

/** Some tests of a file. */
export interface Selection {
  readonly testFile: string;
  /** The tests' full names. All tests by default. */
  readonly names?: readonly string[] | undefined;
  readonly baseline: Baseline;
}

export type Fate = "killed" | "timed out" | "survived";

/** A test that takes this many times longer than without a mutant counts as endless. */
const TIMES_LONGER = 20;
const LEAST_TIMEOUT_MS = 10_000;
/** The same for a loop, by the number of blocks that it enters. A machine's load does not change that number. */
const TIMES_MORE_ENTRIES = 10;
const LEAST_MOST_ENTRIES = 100_000;

/** The tests cannot judge mutants on this machine. The message says in one line which, and why. */
export class UnfitTests extends Error {}

/** Runs the tests of one package, one file at a time. */
export class Lane implements AsyncDisposable {
  readonly #vitest: Vitest;
  readonly #sources: PresentSources;

  private constructor(vitest: Vitest, sources: PresentSources) {
    this.#vitest = vitest;
    this.#sources = sources;
  }

  /** @param isLong true to run only the long tests, false to run only the others. */
  static async open(packageName: string, files: readonly SourceFile[], isLong = false): Promise<Lane> {
    const sources = new PresentSources(files);
    const tests = testProject(packageName, `packages/${packageName}/test`, isLong);
    const vitest = await createVitest(
      {
        config: false,
        watch: false,
        root: ROOT,
        maxWorkers: 1,
        bail: 1,
        reporters: [{}],
        silent: true,
        fsModuleCache: false,
        sequence: { sequencer: AsGiven },
      },
      {
        ...tests,
        plugins: [
          {
            name: "leasehold-mutants",
            enforce: "pre",
            transform(_code, id) {
              const code = sources.read(id);
              return code === undefined ? undefined : { code, map: null };
            },
          },
        ],
        test: {
          ...tests.test,
          pool: "forks",
          isolate: false,
          setupFiles: [fileURLToPath(new URL("./reached.ts", import.meta.url))],
        },
      },
    );
    return new Lane(vitest, sources);
  }

  async testFiles(): Promise<string[]> {
    const specifications = await this.#vitest.globTestSpecifications();
    return specifications.map(({ moduleId }) => moduleId).toSorted();
  }

  /**
   * Runs test files one after the other in one process. Code that one file loads counts as loaded by the files after it.
   * @throws {UnfitTests} if a test fails, or a file skips all of its tests.
   */
  async baselines(testFiles: readonly string[]): Promise<ReadonlyMap<string, Baseline>> {
    const directory = await mkdtemp(join(tmpdir(), "leasehold-mutants-"));
    try {
      const reports = Object.fromEntries(
        testFiles.map((testFile, nth) => [
          testFile,
          { byTests: join(directory, `${nth}.json`), byChildren: join(directory, `${nth}.children`) },
        ]),
      );
      const { modules, errors } = await this.#run(
        testFiles.map((testFile) => ({ testFile })),
        {},
        reports,
      );
      if (errors.length > 0) throw new UnfitTests(firstFailure(modules, errors));
      const all = modules.map(async (module): Promise<[string, Baseline]> => {
        const tests = [...module.children.allTests()];
        if (tests.every((test) => test.result().state === "skipped"))
          throw new UnfitTests(`${module.moduleId} skips all of its tests: .ci/backends installs what they need.`);
        const reached = JSON.parse(await readFile(reports[module.moduleId]!.byTests, "utf8")) as Reached;
        const durations = tests.map((test) => test.diagnostic()?.duration ?? 0);
        const durationMs = module.diagnostic().duration;
        return [module.moduleId, { ...reached, durationMs, slowestTestMs: Math.max(0, ...durations) }];
      });
      return new Map(await Promise.all(all));
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  /** Runs the tests on a mutant. Ends with the first test that fails. */
  async judge(mutant: Mutant, selections: readonly Selection[]): Promise<Fate> {
    const limits = Object.fromEntries(selections.map(({ testFile, baseline }) => [testFile, limitsOf(baseline)]));
    this.#vitest.invalidateFile(this.#sources.change(mutant));
    try {
      const { errors } = await this.#run(selections, limits);
      if (errors.some(isTimeout)) return "timed out";
      return errors.length > 0 ? "killed" : "survived";
    } finally {
      this.#vitest.invalidateFile(this.#sources.restore(mutant));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#vitest.close();
    this.#sources[Symbol.dispose]();
  }

  /** Runs the files in their order in one process, which loads the sources once for all of them. */
  async #run(
    selections: ReadonlyArray<Pick<Selection, "testFile" | "names">>,
    limits: WorkerOrders["limits"],
    reports: WorkerOrders["reports"] = {},
  ): Promise<{ modules: TestModule[]; errors: unknown[] }> {
    // Forget earlier failures, because Vitest would count them with the new ones.
    this.#vitest.state.filesMap.clear();
    this.#vitest.state.idMap.clear();
    const project = this.#vitest.projects[0]!;
    project.provide("mutants", { limits, reports, preload: this.#sources.preload });
    const specifications = selections.map(({ testFile, names }) =>
      project.createSpecification(testFile, names && { testNames: [...names] }),
    );
    const { testModules, unhandledErrors } = await this.#vitest.runTestSpecifications(specifications, false);
    const errors = [...unhandledErrors];
    for (const testModule of testModules) {
      errors.push(...testModule.errors());
      for (const test of testModule.children.allTests()) errors.push(...(test.result().errors ?? []));
      for (const suite of testModule.children.allSuites()) errors.push(...suite.errors());
      if (!testModule.ok() && errors.length === 0) errors.push(new Error(`${testModule.moduleId} failed.`));
    }
    return { modules: testModules, errors };
  }
}

function limitsOf({ entries, slowestTestMs }: Baseline): TestLimits {
  return {
    timeoutMs: LEAST_TIMEOUT_MS + TIMES_LONGER * slowestTestMs,
    mostEntries: LEAST_MOST_ENTRIES + TIMES_MORE_ENTRIES * entries,
  };
}

class AsGiven extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve(files);
  }
}

/** Describes the first test that has failed, in one line. A file that cannot be loaded has no test. */
function firstFailure(modules: readonly TestModule[], [error]: readonly unknown[]): string {
  const module = modules.find((one) => !one.ok());
  const failed = module && [...module.children.allTests()].find((test) => test.result().state === "failed");
  const [reason = ""] = String((error as Partial<Error> | undefined)?.message ?? error).split("\n");
  return [`${module?.moduleId ?? "A file"} fails without any mutant`, ...(failed ? [failed.fullName] : []), reason].join(": ");
}

function isTimeout(error: unknown): boolean {
  return error instanceof Object && "message" in error && /^(Test|Hook) timed out in /.test(String(error.message));
}
