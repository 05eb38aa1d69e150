import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { ConfigurationError } from "@leasehold/core";
import { disposable, type OpenedStore, type StoreSchemes, type StoreUrl, type StoreUrlContext } from "@leasehold/core/provider";
import { KubernetesLeaseStore } from "./kubernetes-lease-store.ts";

/**
 * Opens a {@link KubernetesLeaseStore} by a URL such as `kubernetes://NAMESPACE`. In a pod it uses the service account.
 * Elsewhere, and with the parameter `kubeconfig`, it uses a kubeconfig file. Without the parameter, that is the file in
 * `KUBECONFIG`, or `~/.kube/config`. A file in YAML needs the package yaml.
 */
export const fromUrl: StoreSchemes = {
  kubernetes: { parameters: ["kubeconfig", "go-candidates"], check, open },
};

function check({ scheme, authority, path, parameters }: StoreUrl): void {
  if (!/^[a-z0-9-]+$/.test(authority) || path !== "") {
    throw new ConfigurationError(`a URL of ${scheme}: names a namespace, and nothing behind it: ${scheme}://NAMESPACE.`);
  }
  const go = parameters.get("go-candidates");
  if (go !== undefined && go !== "true") throw new ConfigurationError("go-candidates is 'true', or left out.");
}

async function open(url: StoreUrl, { env }: StoreUrlContext): Promise<OpenedStore> {
  const { authority: namespace, parameters } = url;
  const given = parameters.get("kubeconfig");
  const isInPod = given === undefined && Boolean(env["KUBERNETES_SERVICE_HOST"]);
  const kubeConfig = isInPod ? undefined : await read(given ?? fileOf(env));
  const goCandidates = parameters.get("go-candidates") === "true";
  return disposable(new KubernetesLeaseStore({ namespace, kubeConfig, goCandidates }), () => {});
}

function fileOf({ KUBECONFIG: file }: StoreUrlContext["env"]): string {
  if (!file) return join(homedir(), ".kube/config");
  if (!file.includes(process.platform === "win32" ? ";" : ":")) return file;
  throw new ConfigurationError("KUBECONFIG names several files. Name one by the parameter kubeconfig.");
}

async function read(file: string): Promise<object> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new ConfigurationError(`The kubeconfig ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  const config = await parsed(text, file);
  return typeof config === "object" && config !== null ? withAbsoluteFiles(config, dirname(resolve(file))) : {};
}

async function parsed(text: string, file: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    const { parse } = await import("yaml").catch(() => {
      throw new ConfigurationError(`The kubeconfig ${file} is in YAML, which needs the package yaml: npm install yaml.`);
    });
    try {
      return parse(text);
    } catch {
      // The parser's message quotes the line, which may hold a token.
      throw new ConfigurationError(`The kubeconfig ${file} is no valid YAML.`);
    }
  }
}

/** Paths in a kubeconfig are relative to its own folder. So is a plugin's command, unless it is a name without a folder. */
function withAbsoluteFiles(config: object, folder: string): object {
  return JSON.parse(JSON.stringify(config), (name, value: unknown) => {
    const isPath = isText(value) && (FILES.has(name) || (name === "command" && basename(value) !== value));
    return isPath ? resolve(folder, value) : value;
  }) as object;
}

const FILES: ReadonlySet<string> = new Set(["certificate-authority", "client-certificate", "client-key", "tokenFile"]);

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
