import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreUrl, StoreUrlContext } from "@leasehold/core/provider";
import { fromUrl } from "@leasehold/kubernetes";
import { kubeConfigOf } from "@leasehold/test-kit/stores/kubernetes";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "leasehold-kubernetes-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Opens the store of `kubernetes://jobs` with these parameters, in this environment. */
async function open(parameters: Readonly<Record<string, string>>, env: StoreUrlContext["env"] = {}) {
  const url: Partial<StoreUrl> = { scheme: "kubernetes", authority: "jobs", parameters: new Map(Object.entries(parameters)) };
  return await fromUrl["kubernetes"]!.open(url as StoreUrl, { env } as StoreUrlContext);
}

test.for([
  ["YAML", stringify],
  ["JSON", JSON.stringify],
] as const)("a kubeconfig in %s is read, by its parameter or by KUBECONFIG", async ([, textOf]) => {
  const file = join(await folder(), "config");
  await writeFile(file, textOf(kubeConfigOf("https://10.0.0.1:6443", {}, { tokenFile: "token" })));
  expect((await open({ kubeconfig: file })).capabilities.pause).toBe(true);
  expect((await open({ "go-candidates": "true" }, { KUBECONFIG: file })).capabilities.pause).toBe(false);
});

test("a kubeconfig that cannot be used is refused, and no message shows what is in it", async () => {
  const file = join(await folder(), "config");
  await expect(open({ kubeconfig: file })).rejects.toThrow(`The kubeconfig ${file} cannot be read (ENOENT).`);
  await writeFile(file, "token: [s3cret\nusers: {");
  const error: unknown = await open({ kubeconfig: file }).catch((reason: unknown) => reason);
  expect(String(error)).toContain("is no valid YAML");
  expect(String(error)).not.toContain("s3cret");
  await writeFile(file, "just a text");
  await expect(open({ kubeconfig: file })).rejects.toThrow("must be the content of a kubeconfig file");
  // A cluster without fields may be null.
  await writeFile(file, JSON.stringify({ ...kubeConfigOf("a"), clusters: [{ name: "test", cluster: null }], users: {} }));
  await expect(open({ kubeconfig: file })).rejects.toThrow("no user 'test'");
  await expect(open({}, { KUBECONFIG: "/one:/two" })).rejects.toThrow("KUBECONFIG names several files");
});

test("a plugin's command with a folder is relative to the kubeconfig", async () => {
  const path = await folder();
  const [file, plugin] = [join(path, "config"), join(path, "plugin")];
  await writeFile(plugin, "#!/bin/sh\nexit 7\n", { mode: 0o755 });
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./plugin" };
  await writeFile(file, JSON.stringify(kubeConfigOf("https://10.0.0.1:6443", {}, { exec })));
  const store = await open({ kubeconfig: file });
  await expect(store.read("e")).rejects.toThrow(`the plugin '${plugin}' of the kubeconfig has failed (7)`);
});
