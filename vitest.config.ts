import { defineConfig } from "vitest/config";

// Tests run from the sources: every package exports them under this private condition, so nothing has to be built.
// Not Vite's "module": Vitest passes these on to Node, whose `require` then finds files that only a bundler can read.
const resolve = { conditions: ["@leasehold/source", "node"] };
const fromSource = { ssr: { resolve } };

export default defineConfig({
  // What runs the global setup, by Vitest's own name for it.
  environments: { __vitest__: { resolve } },
  test: {
    // Prints the table of every store that was put to the test.
    globalSetup: ["test/conformance/table.ts"],
    projects: [
      {
        ...fromSource,
        test: {
          name: "core",
          include: ["packages/core/test/**/*.test.ts"],
          // Virtual time costs real time on a busy machine.
          testTimeout: 30_000,
        },
      },
      {
        ...fromSource,
        test: {
          name: "azure-blob",
          include: ["packages/azure-blob/test/**/*.test.ts"],
          testTimeout: 30_000,
        },
      },
      {
        ...fromSource,
        test: {
          name: "firestore",
          include: ["packages/firestore/test/**/*.test.ts"],
          testTimeout: 30_000,
          // Else Google's client looks for a metadata server first, and warns that there is none.
          env: { METADATA_SERVER_DETECTION: "none" },
        },
      },
      {
        ...fromSource,
        test: {
          name: "dynamodb",
          include: ["packages/dynamodb/test/**/*.test.ts"],
          testTimeout: 30_000,
        },
      },
      {
        ...fromSource,
        test: {
          name: "functions",
          include: ["packages/functions/test/**/*.test.ts"],
          testTimeout: 30_000,
        },
      },
      {
        ...fromSource,
        test: {
          name: "sql",
          include: ["packages/sql/test/**/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        ...fromSource,
        test: {
          name: "firestore-server",
          include: ["packages/firestore-server/test/**/*.test.ts"],
          testTimeout: 30_000,
        },
      },
      {
        ...fromSource,
        test: {
          name: "infra",
          include: ["infra/*/test/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        ...fromSource,
        test: {
          name: "conformance",
          include: ["packages/conformance/test/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        ...fromSource,
        test: {
          name: "processes",
          include: ["test/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
