import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { ConfigurationError } from "@leasehold/core";
import type { Clock } from "@leasehold/core/provider";
import { runPlugin, type ExecPlugin } from "./exec-plugin.ts";
import { ApiFailure } from "./transport.ts";

/** Files are read again after this time, because the kubelet and other agents replace them. client-go also waits a minute. */
const FILES_KEPT_MS = 60_000;
/** The credentials of a plugin are replaced this long before they expire. */
const BEFORE_EXPIRY_MS = 60_000;
/** https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/ */
const POD_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The TLS settings of a connection, as PEM. */
export interface Tls {
  readonly ca?: string | Buffer | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  readonly servername?: string | undefined;
}

export interface Credentials {
  /** The value of the header `Authorization`. */
  readonly authorization?: string | undefined;
  readonly tls: Tls;
}

/** An API server, and the credentials for its requests. */
export interface ClusterAccess {
  readonly server: URL;
  /** The namespace of the pod or of the kubeconfig's context, if there is one. */
  readonly namespace?: string | undefined;
  /** Returns the credentials for the next request. */
  credentials(): Promise<Credentials>;
  /** Called when the server has answered 401: the next request needs fresh credentials. */
  refused(): void;
}

/** The credentials, each given as its content or as a file that contains it. */
export interface CredentialSources {
  readonly ca?: string | Buffer | undefined;
  readonly caFile?: string | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly certFile?: string | undefined;
  readonly key?: string | Buffer | undefined;
  readonly keyFile?: string | undefined;
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly servername?: string | undefined;
  readonly plugin?: ExecPlugin | undefined;
}

/** The credentials that were read, and the time when a plugin's credentials expire, by the wall clock. */
interface Kept extends Credentials {
  readonly expiresMs: number;
}

/**
 * Returns credentials that are read again each minute, and after a refusal. A plugin's credentials are kept until shortly before
 * they expire. Requests use the old credentials until the new ones are read, because a plugin may take longer than a lease lasts.
 */
export function keptCredentials(sources: CredentialSources, clock: Clock): Pick<ClusterAccess, "credentials" | "refused"> {
  let known: Promise<Kept> | undefined;
  let expiresMs = -Infinity;
  let triedMs = -Infinity;

  async function readNow(): Promise<Kept> {
    triedMs = clock.monotonicMs();
    const kept = await read(sources);
    ({ expiresMs } = kept);
    return kept;
  }

  return {
    credentials: async () => {
      const isOld = clock.monotonicMs() - triedMs >= FILES_KEPT_MS && clock.wallMs() >= expiresMs - BEFORE_EXPIRY_MS;
      if (known && isOld) {
        const next = readNow();
        next.then(
          () => (known = next),
          () => undefined,
        );
      }
      known ??= readNow();
      const used = known;
      try {
        return await used;
      } catch (error) {
        if (known === used) known = undefined;
        throw error;
      }
    },
    refused: () => {
      known = undefined;
    },
  };
}

async function read(sources: CredentialSources): Promise<Kept> {
  const { servername, plugin } = sources;
  const [ca, cert, key, token, printed] = await Promise.all([
    contentOf(sources.ca, sources.caFile),
    contentOf(sources.cert, sources.certFile),
    contentOf(sources.key, sources.keyFile),
    contentOf(sources.token, sources.tokenFile),
    plugin && runPlugin(plugin),
  ]);
  const bearer = printed?.token ?? token?.toString().trim();
  return {
    authorization: bearer === undefined ? undefined : `Bearer ${bearer}`,
    tls: { ca, cert: printed?.cert ?? cert, key: printed?.key ?? key, servername },
    // Files do not say when they expire.
    expiresMs: printed ? (printed.expiresMs ?? Infinity) : -Infinity,
  };
}

async function contentOf(given: string | Buffer | undefined, file: string | undefined): Promise<string | Buffer | undefined> {
  if (given !== undefined || file === undefined) return given;
  try {
    return await readFile(file);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new ApiFailure(`the file ${file} cannot be read (${code})`, { status: 401, reason: "Unauthorized" });
  }
}

/** Returns the access of a pod's service account. @throws {ConfigurationError} outside of a pod. */
export function podAccess(
  clock: Clock,
  env: Readonly<Record<string, string | undefined>> = process.env,
  folder: string = POD_FOLDER,
): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) {
    throw new ConfigurationError(
      "KubernetesLeaseStore needs kubeConfig outside of a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set.",
    );
  }
  const file = (name: string): string => join(folder, name);
  return {
    server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
    namespace: namespaceIn(file("namespace")),
    ...keptCredentials({ caFile: file("ca.crt"), tokenFile: file("token") }, clock),
  };
}

function namespaceIn(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}

/**
 * Returns the URL of an API server. @throws {ConfigurationError} for a URL without TLS on another host: the token would be sent
 * in clear text.
 */
export function checkServer(given: unknown): URL {
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new ConfigurationError("The cluster's server is not a URL like https://10.0.0.1:6443, without a user and a password.");
  }
  if (url.protocol === "http:" && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    throw new ConfigurationError(
      "The cluster's server has a URL of http:, which is only for this machine, for example with 'kubectl proxy'.",
    );
  }
  return url;
}
