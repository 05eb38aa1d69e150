import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreUrl, StoreUrlContext } from "@leasehold/core/provider";
import { fromUrl } from "@leasehold/kubernetes";
import { kubeConfigOf } from "@leasehold/test-kit/stores/kubernetes";
import { expect, onTestFinished, test, vi } from "vitest";
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

test.each<readonly [parts: Partial<StoreUrl>, says: string | undefined]>([
  [{}, undefined],
  [{ authority: "team-a", parameters: new Map([["go-candidates", "true"]]) }, undefined],
  [{ authority: "" }, "a URL of kubernetes: names a namespace, and nothing behind it: kubernetes://NAMESPACE."],
  [{ authority: "Jobs" }, "names a namespace"],
  [{ authority: "jobs:1" }, "names a namespace"],
  [{ path: "e" }, "names a namespace"],
  [{ parameters: new Map([["go-candidates", "yes"]]) }, "go-candidates is 'true', or left out."],
])("a URL with %o is checked", (parts, says) => {
  const url = { scheme: "kubernetes", authority: "jobs", path: "", parameters: new Map(), ...parts } as StoreUrl;
  const check = (): void => fromUrl["kubernetes"]!.check?.(url);
  if (says === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(says);
});

test("a pod's own account is used unless the URL names a kubeconfig", async () => {
  const inPod = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443", KUBECONFIG: "/missing" };
  // The options of the store read the variables of the process itself.
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect((await open({}, inPod)).name).toBe("kubernetes");
  await expect(open({ kubeconfig: "/other" }, inPod)).rejects.toThrow("The kubeconfig /other cannot be read (ENOENT).");
  await expect(open({}, { ...inPod, KUBERNETES_SERVICE_HOST: "" })).rejects.toThrow("/missing cannot be read (ENOENT).");
});

test.each([
  ["certificate-authority", { "certificate-authority": "a/file" }, {}],
  ["client-certificate", {}, { "client-certificate": "a/file" }],
  ["client-key", {}, { "client-key": "a/file" }],
  ["tokenFile", {}, { tokenFile: "a/file" }],
])("%s is relative to the kubeconfig", async (_, cluster, user) => {
  const path = await folder();
  await writeFile(join(path, "config"), JSON.stringify(kubeConfigOf("https://10.0.0.1:6443", cluster, user)));
  const store = await open({ kubeconfig: join(path, "config") });
  await expect(store.read("e")).rejects.toThrow(`the file ${join(path, "a/file")} cannot be read (ENOENT)`);
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
