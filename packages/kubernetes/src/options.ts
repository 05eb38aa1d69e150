import { ConfigurationError } from "@leasehold/core";
import { checkBoolean, checkOptions, defineOptions, type Clock, type RecordLeaseStoreOptions } from "@leasehold/core/provider";
import { podAccess, type ClusterAccess } from "./access.ts";
import { configuredAccess } from "./kube-config.ts";

export interface KubernetesLeaseStoreOptions extends RecordLeaseStoreOptions {
  /** The namespace of the Leases. @defaultValue the namespace of the pod, or of the kubeconfig's context */
  readonly namespace?: string | undefined;
  /**
   * A `KubeConfig` of `@kubernetes/client-node` with a current context, or the content of a kubeconfig file as an object.
   * @defaultValue the pod's service account
   */
  readonly kubeConfig?: unknown;
  /**
   * True if programs with client-go compete for the same Leases. They would ignore a pause or a transfer, so the store then
   * refuses both. @defaultValue false
   */
  readonly goCandidates?: boolean | undefined;
}

const OPTIONS = defineOptions<KubernetesLeaseStoreOptions>()("namespace kubeConfig goCandidates clock");

export interface CheckedOptions {
  readonly access: ClusterAccess;
  readonly namespace: string;
  readonly goCandidates: boolean;
}

/** @throws {ConfigurationError} for options that cannot work. */
export function checkedOptions(options: KubernetesLeaseStoreOptions, clock: Clock): CheckedOptions {
  checkOptions("KubernetesLeaseStore", options, OPTIONS);
  const { kubeConfig, goCandidates = false } = options;
  checkBoolean("goCandidates", goCandidates);
  const access = kubeConfig === undefined ? podAccess(clock) : configuredAccess(kubeConfig, clock);
  const namespace = options.namespace ?? access.namespace;
  if (namespace === undefined) {
    throw new ConfigurationError("KubernetesLeaseStore needs a namespace, which neither the pod nor the kubeconfig names.");
  }
  if (typeof namespace !== "string" || !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) {
    throw new ConfigurationError(
      `namespace is ${JSON.stringify(namespace)}; it must be at most 63 lower-case letters, digits and '-', with a letter or a digit at both ends.`,
    );
  }
  return { access, namespace, goCandidates };
}
