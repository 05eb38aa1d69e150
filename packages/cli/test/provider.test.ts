import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadScheme } from "../src/store-url/provider.ts";
import { parseStoreUrl } from "../src/store-url/store-url.ts";
import { STORES } from "../src/store-url/stores.ts";

const STORE = { name: "@acme/store", schemes: { acme: "acme://x" }, beside: [] };
const FROM_URL = 'export const fromUrl = { acme: { parameters: ["a"], packages: () => ["acme-sdk"], check() {} } };\n';

/** Creates a working directory with installed packages, by their names and the code of each. */
async function folderWith(packages: Readonly<Record<string, string>>): Promise<string> {
  const workingDirectory = await mkdtemp(join(tmpdir(), "leasehold-cli-"));
  onTestFinished(async () => await rm(workingDirectory, { recursive: true }));
  for (const [name, code] of Object.entries(packages)) {
    const folder = join(workingDirectory, "node_modules", name);
    await mkdir(folder, { recursive: true });
    await writeFile(
      join(folder, "package.json"),
      JSON.stringify({ name, version: "1.0.0", type: "module", exports: "./index.js" }),
    );
    await writeFile(join(folder, "index.js"), code);
  }
  return workingDirectory;
}

async function load(workingDirectory: string, url = "acme://x"): Promise<unknown> {
  return await loadScheme(STORE, parseStoreUrl(url), workingDirectory);
}

test("a package that is not beside the command is loaded from the working directory", async () => {
  const folder = await folderWith({ "@acme/store": FROM_URL, "acme-sdk": "" });
  expect(await load(folder)).toMatchObject({ parameters: ["a"] });
});

test("a missing package is named, with the line that installs everything", async () => {
  await expect(loadScheme({ ...STORE, beside: ["acme-id"] }, parseStoreUrl("acme://x"), await folderWith({}))).rejects.toThrow(
    "the package @acme/store is not installed. Install it, or run: npx -p leasehold -p @acme/store -p acme-id leasehold …",
  );
  await expect(load(await folderWith({ "@acme/store": FROM_URL }))).rejects.toThrow(
    "the package acme-sdk is not installed. Install it, or run: npx -p leasehold -p @acme/store -p acme-sdk leasehold …",
  );
});

test("an SDK that the store's package imports is named if it is missing", async () => {
  await expect(load(await folderWith({ "@acme/store": 'import "acme-client";\n' }))).rejects.toThrow(
    "the package acme-client is not installed. Install it, or run: npx -p leasehold -p @acme/store -p acme-client leasehold …",
  );
});

test("a package that fails while it is loaded shows its own error", async () => {
  await expect(load(await folderWith({ "@acme/store": 'throw new Error("Needs Node 99.");\n' }))).rejects.toThrow(
    /^Needs Node 99\.$/,
  );
});

test("an installed package without the URL's scheme is refused, with its name and this version", async () => {
  for (const code of ["", FROM_URL]) {
    await expect(load(await folderWith({ "@acme/store": code, "acme-sdk": "" }), "acmes://x")).rejects.toThrow(
      /^the installed package @acme\/store opens no URL of acmes:\. Install a version of it that fits leasehold \d/,
    );
  }
});

test("the line leaves out a package that comes with the command", async () => {
  const lacking = { ...STORE, beside: ["@leasehold/sql", "no-such-driver"] };
  await expect(loadScheme(lacking, parseStoreUrl("acme://x"), await folderWith({}))).rejects.toThrow(
    "npx -p leasehold -p @acme/store -p no-such-driver leasehold …",
  );
});

test.for(STORES)("$name opens the URLs of its schemes", async ({ name, schemes, ...rest }) => {
  for (const [scheme, example] of Object.entries(schemes)) {
    const url = parseStoreUrl(example.replace(/^[^:]+/, scheme));
    const found = await loadScheme({ name, schemes, ...rest }, url, "/");
    expect(() => found.check(url)).not.toThrow();
    const { fromUrl } = (await import(name)) as { readonly fromUrl: object };
    expect(Object.keys(fromUrl)).toEqual(Object.keys(schemes));
  }
});
