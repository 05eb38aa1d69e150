import type { Construct } from "constructs";
import { ConfiguredProvider } from "../../terraform.ts";

export interface GoogleProviderArguments {
  readonly project?: string;
  readonly region?: string;
}

/**
 * HashiCorp's provider. From 7.20 on, worker pools have probes for certain, and are generally available: they need no
 * `launch_stage`. https://registry.terraform.io/providers/hashicorp/google/latest/docs
 */
export class GoogleProvider extends ConfiguredProvider {
  constructor(scope: Construct, id: string, args: GoogleProviderArguments = {}) {
    super(scope, id, "hashicorp/google", "~> 7.20", args);
  }
}
