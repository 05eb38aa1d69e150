import { ConfigurationError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { checkServer, keptCredentials, type ClusterAccess, type Tls } from "./access.ts";
import { checkPlugin } from "./exec-plugin.ts";

/**
 * The content of a kubeconfig file, as an object. A `KubeConfig` of `@kubernetes/client-node` is accepted, too.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
export interface KubeConfigFile {
  readonly "current-context"?: string;
  readonly contexts?: ReadonlyArray<{ readonly name: string; readonly context?: Partial<KubeContext> | null }>;
  readonly clusters?: ReadonlyArray<{ readonly name: string; readonly cluster?: Fields | null }>;
  readonly users?: ReadonlyArray<{ readonly name: string; readonly user?: Fields | null }>;
}

export interface KubeContext {
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** The part of the `KubeConfig` of `@kubernetes/client-node` that is used. Version 1 renamed the last method. */
interface ClientConfig {
  getCurrentCluster(): { readonly server: string; readonly skipTLSVerify?: boolean; readonly proxyUrl?: string } | null;
  getCurrentContext(): string;
  getContextObject(name: string): { readonly namespace?: string } | null;
  applyToHTTPSOptions?(options: HttpsOptions): Promise<void>;
  applytoHTTPSOptions?(options: HttpsOptions): Promise<void>;
}

interface HttpsOptions extends Tls {
  readonly headers?: Readonly<Record<string, unknown>>;
}

const UNVERIFIED =
  "The cluster has insecure-skip-tls-verify, so that any server could pass for its API server. Give certificate-authority-data instead.";
const BY_PROXY = "The cluster has a proxy-url, which is not supported. Connect to the API server itself.";
const LIBRARY = "Give a KubeConfig of @kubernetes/client-node instead, which supports it.";

/** Returns the access that a kubeconfig describes. @throws {ConfigurationError} for a kubeconfig that cannot be used. */
export function configuredAccess(config: unknown, clock: Clock): ClusterAccess {
  if (isClientConfig(config)) return clientAccess(config);
  if (typeof config !== "object" || config === null || !("clusters" in config)) {
    throw new ConfigurationError(
      "kubeConfig must be the content of a kubeconfig file, as an object, or a KubeConfig of @kubernetes/client-node.",
    );
  }
  return fileAccess(config as KubeConfigFile, clock);
}

function isClientConfig(config: unknown): config is ClientConfig {
  const given = config as Partial<ClientConfig> | null;
  return (
    [given?.getCurrentCluster, given?.getCurrentContext, given?.getContextObject].every((one) => typeof one === "function") &&
    [given?.applyToHTTPSOptions, given?.applytoHTTPSOptions].some((one) => typeof one === "function")
  );
}

function clientAccess(config: ClientConfig): ClusterAccess {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new ConfigurationError("kubeConfig has no current cluster: load it before it is given to the store.");
  if (cluster.skipTLSVerify) throw new ConfigurationError(UNVERIFIED);
  if (cluster.proxyUrl) throw new ConfigurationError(BY_PROXY);
  return {
    server: checkServer(cluster.server),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    credentials: async () => {
      const options: HttpsOptions = {};
      await (config.applyToHTTPSOptions?.(options) ?? config.applytoHTTPSOptions?.(options));
      const { ca, cert, key, servername, headers = {} } = options;
      const authorization = headers["Authorization"];
      return { tls: { ca, cert, key, servername }, ...(typeof authorization === "string" ? { authorization } : {}) };
    },
    // The library itself renews credentials that it got from a plugin or a file.
    refused: () => undefined,
  };
}

function fileAccess(config: KubeConfigFile, clock: Clock): ClusterAccess {
  // A cluster or a user without fields may be null.
  const context = named("context", config.contexts, config["current-context"]).context ?? {};
  const cluster = named("cluster", config.clusters, context.cluster).cluster ?? {};
  const user = named("user", config.users, context.user).user ?? {};
  const text = (fields: Fields, name: string): string | undefined => {
    const value = fields[name];
    if (value === undefined || (typeof value === "string" && value !== "")) return value;
    throw new ConfigurationError(`${name} of the kubeconfig is not a text.`);
  };
  const decoded = (fields: Fields, name: string): Buffer | undefined => {
    const value = text(fields, name);
    return value === undefined ? undefined : Buffer.from(value, "base64");
  };
  if (cluster["insecure-skip-tls-verify"] === true) throw new ConfigurationError(UNVERIFIED);
  if (cluster["proxy-url"] !== undefined) throw new ConfigurationError(BY_PROXY);
  for (const name of ["auth-provider", "username"]) {
    if (user[name] !== undefined) throw new ConfigurationError(`The user of the kubeconfig has '${name}'. ${LIBRARY}`);
  }
  const sources = {
    ca: decoded(cluster, "certificate-authority-data"),
    caFile: text(cluster, "certificate-authority"),
    servername: text(cluster, "tls-server-name"),
    cert: decoded(user, "client-certificate-data"),
    certFile: text(user, "client-certificate"),
    key: decoded(user, "client-key-data"),
    keyFile: text(user, "client-key"),
    // If both are given, `tokenFile` has precedence, as in client-go.
    token: text(user, "tokenFile") === undefined ? text(user, "token") : undefined,
    tokenFile: text(user, "tokenFile"),
    plugin: user["exec"] === undefined ? undefined : checkPlugin(user["exec"]),
  };
  return { server: checkServer(cluster["server"]), namespace: context.namespace, ...keptCredentials(sources, clock) };
}

function named<Entry extends { readonly name: string }>(
  what: "context" | "cluster" | "user",
  entries: readonly Entry[] | undefined,
  name: string | undefined,
): Entry {
  const found = Array.isArray(entries) ? (entries as readonly (Entry | null)[]).find((entry) => entry?.name === name) : undefined;
  if (found) return found;
  const unnamed = what === "context" ? "no current-context" : `no ${what} in its context`;
  const wanted = name === undefined ? unnamed : `no ${what} '${name}'`;
  throw new ConfigurationError(`The kubeconfig has ${wanted}. 'kubectl config view' shows what it has.`);
}
