import { ResourceProvider } from "@leasehold/infra-terrain";

/** The arguments in use, by the provider's own names: https://registry.terraform.io/providers/hashicorp/google/latest/docs */
export interface GoogleProviderArguments {
  readonly project?: string;
  readonly region?: string;
}

export class GoogleProvider extends ResourceProvider<GoogleProviderArguments> {
  static override readonly providerName: string = "google";
  /** From 7.20 on, worker pools have probes for certain, and are generally available: they need no `launch_stage`. */
  static override readonly versionConstraint: string = "~> 7.20";
}
