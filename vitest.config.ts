import { defineConfig } from "vitest/config";

// Tests run from the sources: every package exports them under this private condition, so nothing has to be built.
const fromSource = { ssr: { resolve: { conditions: ["@leasehold/source", "module", "node", "import", "default"] } } };

export default defineConfig({
  test: {
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
          name: "processes",
          include: ["test/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
