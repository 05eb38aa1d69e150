import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** Bundles a program that imports these names of core, and returns the files of core whose code is in the bundle. */
async function bundleOf(names: string): Promise<{ readonly bytes: number; readonly files: readonly string[] }> {
  const { metafile } = await build({
    stdin: { contents: `export { ${names} } from "@leasehold/core";`, resolveDir: import.meta.dirname },
    conditions: ["@leasehold/source"],
    ...{ bundle: true, minify: true, metafile: true, write: false, platform: "node", format: "esm" },
    absWorkingDir: join(import.meta.dirname, "../../.."),
  });
  const [output] = Object.values(metafile.outputs);
  const inputs = Object.entries(output?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return { bytes: output?.bytes ?? 0, files: inputs.map(([file]) => file.replace("packages/core/src/", "")) };
}

test("a program that only elects has no code of occurrences, of policies or of the kit for tests in its bundle", async () => {
  const foreign = /^(?:occurrences|metrics|testing)\//;
  const elects = await bundleOf("Elector, MemoryLeaseStore");
  expect(elects.files).toContain("election/elector.ts");
  expect(elects.files.filter((file) => foreign.test(file))).toEqual([]);
  expect(elects.bytes).toBeLessThan(100_000);

  const { files } = await bundleOf("Elector, MemoryLeaseStore, oncePerOccurrence");
  expect(files).toContain("occurrences/overlap.ts");
});
