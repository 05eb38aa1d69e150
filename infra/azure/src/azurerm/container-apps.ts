import { ProviderResource } from "@leasehold/infra-terrain";
import type { ManagedIdentityArguments } from "./access.ts";

export interface ContainerAppArguments {
  readonly name: string;
  readonly resource_group_name: string;
  readonly container_app_environment_id: string;
  readonly identity: ManagedIdentityArguments;
  readonly registry?: readonly { readonly server: string; readonly identity: string }[];
  readonly revision_mode: "Single";
  readonly template: {
    readonly min_replicas: number;
    readonly max_replicas: number;
    readonly termination_grace_period_seconds: number;
    readonly container: readonly ContainerBlock[];
  };
}

export class ContainerApp extends ProviderResource<ContainerAppArguments> {
  static override readonly terraformType: string = "azurerm_container_app";
}

interface ContainerBlock {
  readonly name: string;
  readonly image: string;
  readonly cpu: number;
  readonly memory: string;
  readonly command?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly liveness_probe: readonly {
    readonly transport: "HTTP";
    readonly port: number;
    readonly path: string;
    readonly interval_seconds: number;
    readonly failure_count_threshold: number;
  }[];
}
