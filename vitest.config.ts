import { readdirSync } from "node:fs";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

// Tests run from the sources: every package exports them under this private condition, so nothing has to be built.
// Not Vite's "module": Vitest passes these on to Node, whose `require` then finds files that only a bundler can read.
const resolve = { conditions: ["@leasehold/source", "node"] };

// The proofs that take minutes are in *.long.test.ts: `npm run test:long` runs them alone, `npm test` leaves them out.
const LONG = "*.long.test.ts";

/** The tests in one folder. The limits are what a busy machine needs; no test is to prove that something is fast. */
export function testProject(name: string, folder: string, isLong: boolean): TestProjectInlineConfiguration {
  return {
    ssr: { resolve },
    test: {
      name,
      include: [`${folder}/**/${isLong ? LONG : "*.test.ts"}`],
      exclude: ["**/node_modules/**", ...(isLong ? [] : [`**/${LONG}`])],
      // Files that follow one another in a worker share what they have loaded: an SDK takes longer to load than many a file to run.
      isolate: false,
      testTimeout: 120_000,
      hookTimeout: 60_000,
      // Else Google's client looks for a metadata server first, and warns that there is none.
      env: { METADATA_SERVER_DETECTION: "none" },
    },
  };
}

export default defineConfig(({ mode }) => {
  const isLong = mode === "long";
  return {
    // What runs the global setup, by Vitest's own name for it.
    environments: { __vitest__: { resolve } },
    test: {
      // More than there are processors: many a test does nothing but wait for a service, or for time to pass.
      maxWorkers: "200%",
      // Prints the table of every store that was put to the test.
      globalSetup: ["test/kit/conformance/table.ts"],
      projects: [
        ...readdirSync("packages").map((name) => testProject(name, `packages/${name}/test`, isLong)),
        testProject("infra", "infra/*/test", isLong),
        // They prove the kit, and no rule of the library's.
        ...(isLong ? [testProject("kit", "test/kit/test", false)] : []),
        testProject("programs", "test/programs", isLong),
        testProject("suites", "test/suites", isLong),
      ],
    },
  };
});
