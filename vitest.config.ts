import { readdirSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { installedIn, oldestPeers, PEERS } from "./test/oldest-peers/peers.ts";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Tests run from the sources: every package exports them under this private condition, so nothing has to be built.
// Not Vite's "module": Vitest passes these on to Node, whose `require` then finds files that only a bundler can read.
const resolve = { conditions: ["@leasehold/source", "node"] };

// The proofs that take minutes are in *.long.test.ts: `npm run test:long` runs them alone, `npm test` leaves them out.
const LONG = "*.long.test.ts";

/** The cases of conformance that an SDK can change. They run with the oldest SDKs; the long tests have every case. */
const EACH_KIND = "packages/{azure-blob,dynamodb}/test/conformance-each-kind.test.ts";

/**
 * How many tests of one file go on at a time, of those that are concurrent because they wait for leases in real time. A file
 * cannot say it: a worker goes by what its first file says.
 */
const AT_A_TIME = { packages: 12, suites: 64 };

/** The temporary folder of the tests of infrastructure. Both CDKs leave folders in it; its setup removes it. */
const INFRA_TMPDIR = join(tmpdir(), `leasehold-infra-${process.pid}`);

/** The tests of infrastructure. They have a temporary folder of their own. */
function infraProject(isLong: boolean): TestProjectInlineConfiguration {
  const project = testProject("infra", "infra/*/test", isLong);
  const env = { ...project.test?.env, TMPDIR: INFRA_TMPDIR };
  return { ...project, test: { ...project.test, env, globalSetup: ["test/kit/terrain/temporary-folder.ts"] } };
}

/** Where `npm run drivers` has installed other versions of drivers. */
const DRIVERS = process.env["LEASEHOLD_DRIVERS"];

/** The tests in one folder. The limits are what a busy machine needs; no test is to prove that something is fast. */
export function testProject(name: string, folder: string, isLong: boolean, maxConcurrency = 5): TestProjectInlineConfiguration {
  return {
    ssr: { resolve },
    plugins: DRIVERS === undefined ? [] : [installedIn(DRIVERS)],
    test: {
      name,
      include: [`${folder}/**/${isLong ? LONG : "*.test.ts"}`],
      exclude: [
        "**/node_modules/**",
        ...(folder === LIBRARIES ? [] : [`${LIBRARIES}/**`]),
        ...(isLong ? [] : [`**/${LONG}`, EACH_KIND]),
      ],
      // Files that follow one another in a worker share what they have loaded: an SDK takes longer to load than many a file to run.
      isolate: false,
      maxConcurrency,
      // A module in the cache may import the versions of another folder.
      fsModuleCache: DRIVERS === undefined,
      // Tests make stores fail all the time, of which Leasehold warns; those that want to see it hear the event.
      execArgv: ["--disable-warning=LeaseholdWarning"],
      testTimeout: 300_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 60_000 } },
      // Else Google's client looks for a metadata server first, and warns that there is none.
      env: { METADATA_SERVER_DETECTION: "none" },
    },
  };
}

const LIBRARIES = "packages/sql/test/libraries";

/**
 * The tests that load a SQLite library other than Node's. They have a process each, because such a process refuses the files that it
 * has open, and the library stays loaded.
 */
function librariesProject(isLong: boolean): TestProjectInlineConfiguration {
  const project = testProject("sql-libraries", LIBRARIES, isLong, AT_A_TIME.packages);
  return { ...project, test: { ...project.test, isolate: true } };
}

/** Conformance with the oldest SDK and driver of each store. */
function oldestPeersProject(): TestProjectInlineConfiguration {
  const project = testProject("oldest-peers", "test/oldest-peers", false, AT_A_TIME.packages);
  const include = [
    ...(project.test?.include ?? []),
    EACH_KIND,
    ...[...PEERS.keys()].map((folder) => `packages/${folder}/test/conformance*.test.ts`),
  ];
  return {
    ...project,
    plugins: [oldestPeers],
    test: {
      ...project.test,
      include,
      exclude: ["**/node_modules/**", "**/!(conformance-on-node-redis).long.test.ts", "**/*-on-sqlite.test.ts"],
      env: { ...project.test?.env, LEASEHOLD_OLDEST_PEERS: "1" },
    },
  };
}

/**
 * The longest files, by parts of their paths. First comes the one that computes most. Then come those that wait for leases in real
 * time, because they compute little beside one another.
 */
const LONGEST = [
  "/test/programs/simulation/mutants",
  "/test/programs/demo/",
  "/test/programs/chaos/",
  "/test/suites/examples/",
  "/test/suites/processes/",
  "/packages/cli/test/run/",
  "/test/suites/storm/",
  "/packages/sql/test/conformance-on-",
  "/packages/etcd/test/",
  "/packages/sql/test/",
  "/test/suites/",
  "/test/programs/",
  "/test/conformance",
];

/** This file comes last. Its servers elect nobody while examples are installed and compiled beside them on two processors. */
const LAST = "/test/suites/processes/voting.";

/** Begins with the longest files, so that few of them run alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST.findIndex((path) => moduleId.includes(path));
      if (moduleId.includes(LAST)) return LONGEST.length + 1;
      return found < 0 ? LONGEST.length : found;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- of a sequencer
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig(({ mode }) => {
  const isLong = mode === "long";
  return {
    // The environment of the global setup, by Vitest's own name for it.
    environments: { __vitest__: { resolve } },
    test: {
      // More than there are processors: most of the time a test does nothing but wait for a service, or for time to pass. As a
      // percentage it could not be: Vitest takes more than 100% for 100%.
      maxWorkers: 2 * availableParallelism(),
      sequence: { sequencer: LongestFirst },
      // postgres.js handles no error of its first question on a connection: https://github.com/porsager/postgres/issues/1192
      onUnhandledError: (error) => !("query" in error && String(error["query"]).includes("typcategory = 'A'")),
      // The first says what will be skipped. The second prints the table of every store that was put to the test.
      globalSetup: ["test/kit/backends/announce-missing.ts", "test/kit/conformance/table.ts"],
      projects: [
        ...readdirSync("packages").map((name) => testProject(name, `packages/${name}/test`, isLong, AT_A_TIME.packages)),
        librariesProject(isLong),
        infraProject(isLong),
        testProject("site", "site/test", isLong),
        // They prove the kit, and no rule of the library's.
        ...(isLong ? [testProject("kit", "test/kit/test", false)] : []),
        ...(isLong ? [oldestPeersProject()] : []),
        testProject("programs", "test/programs", isLong),
        testProject("suites", "test/suites", isLong, AT_A_TIME.suites),
      ],
    },
  };
});
