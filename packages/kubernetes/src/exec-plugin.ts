import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ConfigurationError } from "@leasehold/core";
import { ApiFailure } from "./transport.ts";

/** The longest time that a plugin may take. A plugin usually gets a token from a cloud. */
const MOST_MS = 30_000;

/** The program of a kubeconfig's user that prints credentials. */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface PluginCredentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** By the wall clock, since the Unix epoch. */
  readonly expiresMs?: number;
}

/**
 * Returns the plugin of a user. @throws {ConfigurationError} for a plugin that prompts the user, or that needs information about
 * the cluster.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
export function checkPlugin(given: unknown): ExecPlugin {
  const { apiVersion, command, args, env, interactiveMode, provideClusterInfo } = (given ?? {}) as Record<string, unknown>;
  if (typeof apiVersion !== "string" || typeof command !== "string" || command === "") {
    throw new ConfigurationError("exec of the kubeconfig needs apiVersion and command, as texts.");
  }
  if (interactiveMode === "Always" || provideClusterInfo === true) {
    throw new ConfigurationError(
      "exec of the kubeconfig has interactiveMode Always or provideClusterInfo. Give a KubeConfig of @kubernetes/client-node instead.",
    );
  }
  const variables = Array.isArray(env) ? (env as ReadonlyArray<{ readonly name?: unknown; readonly value?: unknown }>) : [];
  return {
    apiVersion,
    command,
    args: Array.isArray(args) ? args.map(String) : [],
    env: Object.fromEntries(variables.map(({ name, value }) => [String(name), String(value)])),
  };
}

/** Runs the plugin once. @throws {ApiFailure} if it fails. The message contains nothing of its output. */
export async function runPlugin({ apiVersion, command, args, env }: ExecPlugin): Promise<PluginCredentials> {
  const info = JSON.stringify({ apiVersion, kind: "ExecCredential", spec: { interactive: false } });
  const options = { env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: info }, timeout: MOST_MS };
  let output: string;
  try {
    output = (await promisify(execFile)(command, args, options)).stdout;
  } catch (error) {
    const { code, signal } = error as { readonly code?: unknown; readonly signal?: unknown };
    throw unauthorized(`the plugin '${command}' of the kubeconfig has failed (${String(code ?? signal)})`);
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = statusIn(output);
  const isUsable = typeof token === "string" || (typeof clientCertificateData === "string" && typeof clientKeyData === "string");
  if (!isUsable) throw unauthorized(`the plugin '${command}' of the kubeconfig has printed no credentials`);
  // oxlint-disable-next-line eslint/no-restricted-globals -- reads a text, and no clock
  const expiresMs = Date.parse(String(expirationTimestamp));
  return {
    ...(typeof token === "string" ? { token } : {}),
    ...(typeof clientCertificateData === "string" ? { cert: clientCertificateData } : {}),
    ...(typeof clientKeyData === "string" ? { key: clientKeyData } : {}),
    ...(Number.isNaN(expiresMs) ? {} : { expiresMs }),
  };
}

function statusIn(output: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(output) as { readonly status?: Record<string, unknown> | null } | null)?.status ?? {};
  } catch {
    return {};
  }
}

function unauthorized(message: string): ApiFailure {
  return new ApiFailure(message, { status: 401, reason: "Unauthorized" });
}
