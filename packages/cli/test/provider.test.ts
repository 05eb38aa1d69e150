import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadProvider } from "../src/store-url/provider.ts";

/** Creates a working directory with installed packages. The content of each package is its name. */
async function folderWith(
  ...packages: readonly string[]
): Promise<{ readonly env: Record<string, string>; readonly workingDirectory: string }> {
  const workingDirectory = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(async () => await rm(workingDirectory, { recursive: true }));
  for (const name of packages) {
    const folder = join(workingDirectory, "node_modules", name);
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "package.json"),
      JSON.stringify({ name, version: "1.0.0", type: "module", exports: "./index.js" }),
    );
    await writeFile(join(folder, "index.js"), `export const name = ${JSON.stringify(name)};\n`);
  }
  return { env: {}, workingDirectory };
}

interface Named {
  readonly name: string;
}

test("a package that is not beside the command is loaded from the working directory, with its SDK", async () => {
  const place = await folderWith("@acme/store", "acme-sdk");
  const { module, sdk } = await loadProvider<Named>("@acme/store", place, ["acme-sdk"]);
  expect(module.name).toBe("@acme/store");
  expect(await sdk("acme-sdk")).toMatchObject({ name: "acme-sdk" });
});

test("a missing package is named, with the line that installs everything", async () => {
  const nothing = await folderWith();
  await expect(loadProvider("@acme/store", nothing, ["acme-sdk"])).rejects.toThrow(
    "the package @acme/store is not installed. Install it, or run: npx -p leasehold -p @acme/store -p acme-sdk leasehold …",
  );
  const alone = await folderWith("@acme/store");
  await expect(loadProvider("@acme/store", alone, ["acme-sdk"])).rejects.toThrow(
    "the package acme-sdk is not installed. Install it, or run: npx -p leasehold -p @acme/store -p acme-sdk leasehold …",
  );
  const { sdk } = await loadProvider<Named>("@acme/store", alone);
  await expect(sdk("acme-sdk")).rejects.toThrow("the package acme-sdk is not installed.");
});

test("the line leaves out a package that comes with the command", async () => {
  const place = await folderWith();
  await expect(loadProvider("@leasehold/sql", place, ["no-such-driver"])).rejects.toThrow(
    "the package no-such-driver is not installed. Install it, or run: npx -p leasehold -p no-such-driver leasehold …",
  );
});
