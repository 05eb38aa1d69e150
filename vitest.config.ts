import { readdirSync } from "node:fs";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

// Tests run from the sources: every package exports them under this private condition, so nothing has to be built.
// Not Vite's "module": Vitest passes these on to Node, whose `require` then finds files that only a bundler can read.
const resolve = { conditions: ["@leasehold/source", "node"] };

/** The tests in one folder. The limits are what a busy machine needs; no test is to prove that something is fast. */
function project(name: string, folder: string): TestProjectInlineConfiguration {
  return {
    ssr: { resolve },
    test: {
      name,
      include: [`${folder}/**/*.test.ts`],
      testTimeout: 120_000,
      hookTimeout: 60_000,
      // Else Google's client looks for a metadata server first, and warns that there is none.
      env: { METADATA_SERVER_DETECTION: "none" },
    },
  };
}

export default defineConfig({
  // What runs the global setup, by Vitest's own name for it.
  environments: { __vitest__: { resolve } },
  test: {
    // Prints the table of every store that was put to the test.
    globalSetup: ["test/kit/conformance/table.ts"],
    projects: [
      ...readdirSync("packages").map((name) => project(name, `packages/${name}/test`)),
      project("infra", "infra/*/test"),
      project("kit", "test/kit/test"),
      project("programs", "test/programs"),
      project("suites", "test/suites"),
    ],
  },
});
