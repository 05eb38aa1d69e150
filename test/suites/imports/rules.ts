import type { Import } from "./imports-of.ts";

/** Which modules a file may import. */
export interface Rule {
  readonly title: string;
  /** The files that the rule is for. */
  readonly files: RegExp;
  readonly allows: (found: Import) => boolean;
  /** An import that the rule refuses, as a proof that it can. */
  readonly refused: Pick<Import, "file" | "module"> & Partial<Import>;
}

const CORE = "packages/core/src/";
/** Each folder of core, and the other folders that it may import. No import goes upwards. */
const CORE_FOLDERS: Readonly<Record<string, readonly string[]>> = {
  time: [],
  reporting: [],
  store: ["time", "reporting"],
  records: ["time", "reporting", "store"],
  election: ["time", "reporting", "store"],
  occurrences: ["time", "reporting", "store", "election"],
  metrics: ["time", "reporting", "store", "election", "occurrences"],
  testing: ["time", "reporting", "store", "records", "election"],
};
/** The only modules outside of core that a file of core may import. */
const BUILTINS_OF_CORE: Readonly<Record<string, string>> = {
  [`${CORE}reporting/diagnostics.ts`]: "node:diagnostics_channel",
  [`${CORE}election/candidate-id.ts`]: "node:os",
  [`${CORE}election/inside-task.ts`]: "node:async_hooks",
  [`${CORE}store/local-store.ts`]: "node:os",
};

/** The entry points of core for every package, and those for one package. */
const ENTRY_POINTS = [
  "@leasehold/core",
  "@leasehold/core/diagnostics",
  "@leasehold/core/occurrences",
  "@leasehold/core/provider",
];
const MORE_ENTRY_POINTS: Readonly<Record<string, readonly string[]>> = {
  cli: ["@leasehold/fleet"],
  conformance: ["@leasehold/core/testing"],
};

const TIME_MODULES = /^(?:node:)?(?:timers(?:\/promises)?|perf_hooks|process|test)$|^crypto$/;
const RANDOM = /^(?:random(?:Bytes|Fill|FillSync|Int|UUID)|getRandomValues|webcrypto|default|\*)$/;

/** Tests that use more of a package than its entry points export. Each of them names the package's files by path. */
const INTERNALS: Readonly<Record<string, readonly string[]>> = {
  // A schedule has to fit the time budget of the functions that it starts.
  "infra/aws/test": ["packages/functions"],
  // It plays client-go's rules on the world of the Kubernetes store.
  "test/programs/coming-from": ["packages/kubernetes"],
  // The places of SQL are used without a test runner.
  "test/programs/runtimes": ["packages/sql"],
  // Their worlds play alone, and the simulation runs the connections of SQL and the servers of voting without a network.
  "test/programs/simulation": ["packages/kubernetes", "packages/quorum", "packages/redis", "packages/sql", "packages/voting"],
  "test/suites/quorum": ["packages/sql"],
  "test/suites/startup": ["packages/cli"],
};

const SOURCES = /^packages\/[^/]+\/src\//;

export const RULES: readonly Rule[] = [
  {
    title: "a package imports no other package of ours, except entry points of core, and the command a fleet",
    files: SOURCES,
    allows: ({ file, module }) =>
      !isOurs(module) || ENTRY_POINTS.includes(module) || MORE_ENTRY_POINTS[file.split("/")[1]!]?.includes(module) === true,
    refused: { file: "packages/sql/src/options.ts", module: "@leasehold/dynamodb" },
  },
  {
    title: "a package takes time and randomness from the Clock",
    files: SOURCES,
    allows: ({ module, names }) =>
      !TIME_MODULES.test(module) && !(module === "node:crypto" && names.some((name) => RANDOM.test(name))),
    refused: { file: "packages/sql/src/options.ts", module: "node:crypto", names: ["createHash", "randomUUID"] },
  },
  {
    title: "core imports only its own files",
    files: new RegExp(`^${CORE}`),
    allows: ({ file, module }) => module.startsWith(CORE) || BUILTINS_OF_CORE[file] === module,
    refused: { file: `${CORE}election/elector.ts`, module: "node:os" },
  },
  {
    title: "no import of core goes upwards",
    files: new RegExp(`^${CORE}[^/]+/`),
    allows: ({ file, module }) => {
      const [from, to] = [coreFolder(file), coreFolder(module)];
      return from === undefined || to === undefined || from === to || CORE_FOLDERS[from]?.includes(to) === true;
    },
    refused: { file: `${CORE}store/request.ts`, module: `${CORE}election/elector.ts` },
  },
  {
    title: "a file of another package is imported by that package's name",
    files: /^(?:packages|infra|test)\//,
    allows: ({ file, module }) => {
      const [from, to] = [packageOf(file), packageOf(module)];
      if (to === undefined || from === to) return true;
      return Object.entries(INTERNALS).some(([folder, packages]) => file.startsWith(`${folder}/`) && packages.includes(to));
    },
    refused: { file: "packages/core/test/elector.run.test.ts", module: "test/kit/failure.ts" },
  },
  {
    // It stands for the service, so it must not share an error with our protocol.
    title: "the kit's Firestore server imports nothing of ours",
    files: /^test\/kit\/firestore-server\//,
    allows: ({ module }) => !isOurs(module),
    refused: { file: "test/kit/firestore-server/server.ts", module: "@leasehold/core" },
  },
];

function isOurs(module: string): boolean {
  return /^(?:@leasehold\/|leasehold(?:$|\/))/.test(module);
}

/** The folder of core that holds a file; `undefined` for a file of another package, and for an entry point. */
function coreFolder(path: string): string | undefined {
  return new RegExp(`^${CORE}([^/]+)/`).exec(path)?.[1];
}

/** The folder of the package that holds a file; `undefined` for a specifier, and for a file at the root. */
function packageOf(path: string): string | undefined {
  return /^(?:(?:packages|infra|examples)\/[^/]+|test\/kit|test)(?=\/)/.exec(path)?.[0];
}
